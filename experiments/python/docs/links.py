"""Says which links inside a built site lead nowhere: python links.py FOLDER."""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The places of a page, and what it links to."""

    def __init__(self, path):
        super().__init__()
        self.places, self.links = set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.places |= {value for name, value in attrs if name in ("id", "name")}
        self.links |= {value for name, value in attrs if name in ("href", "src") and value}


def broken(folder):
    """Each link inside the folder whose file or place is not there, with its page."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for link in sorted(page.links):
            at = urllib.parse.urlsplit(link)
            if at.scheme or at.netloc:
                continue
            to = (path.parent / urllib.parse.unquote(at.path)).resolve() if at.path else path
            place = urllib.parse.unquote(at.fragment)
            if not to.exists() or place and to in pages and place not in pages[to].places:
                yield f"{path.relative_to(folder)}: {link}"


if __name__ == "__main__":
    found = list(broken(pathlib.Path(sys.argv[1]).resolve()))
    sys.exit("links that lead nowhere:\n" + "\n".join(found) if found else 0)
