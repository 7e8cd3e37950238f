"""What TensorBoard reads of a folder: python board.py DIR prints it as JSON.

Scalars of each run are those of its EventAccumulator; settings and metrics those that the plugin HParams lists.
"""

import json
import os
import sys

from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups

board = sys.argv[1]
scalars = {}
for run in sorted(os.listdir(board)):
    events = EventAccumulator(os.path.join(board, run), size_guidance={"scalars": 0}).Reload()
    scalars[run] = {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}

all_runs = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(board).Reload()
provider = data_provider.MultiplexerDataProvider(all_runs, board)
request, plugin = RequestContext(), backend_context.Context(base_plugin.TBContext(data_provider=provider))
experiment = get_experiment.Handler(request, plugin, "", api_pb2.GetExperimentRequest()).run()
wanted = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=100, allowed_statuses=[api_pb2.STATUS_SUCCESS])
for metric in experiment.metric_infos:
    wanted.col_params.add(metric=metric.name)
groups = list_session_groups.Handler(request, plugin, "", wanted).run()


def plain(value):
    return getattr(value, value.WhichOneof("kind"))


settings = {s.name: {k: plain(v) for k, v in g.hparams.items()} for g in groups.session_groups for s in g.sessions}
metrics = {s.name: {v.name.tag: v.value for v in s.metric_values} for g in groups.session_groups for s in g.sessions}
json.dump({"scalars": scalars, "settings": settings, "metrics": metrics}, sys.stdout)
