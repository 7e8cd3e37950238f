// Package disk writes all files of this module. A file is either written completely or stays as it was ([WriteFile]).
// Files that belong together are all replaced or none of them ([Folder]). A reader of several files can hold them, so
// that no writer changes them meanwhile ([Hold]). If a process is killed, the next one finishes or removes what it
// left. Package data opens files for reading.
//
//	out := disk.NewFolder("runs/vq", group)
//	defer out.Discard()
//	out.WriteBytes("config.json", text)
//	err := out.Commit() // the folder now has the new files
//
// A mistake of the user is a *[data.InputError]. [Interrupt] hears of every change, so a test can make any change fail.
package disk
