package tensorboard

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"calibra/graph/onnx/protobuf"
)

// settings adds what a run was made with and that it has ended, as the plugin HParams reads them
// (tensorboard/plugins/hparams/plugin_data.proto).
func (e *events) settings(began time.Time, values map[string]any) {
	var start protobuf.Message // SessionStartInfo
	for _, key := range slices.Sorted(maps.Keys(values)) {
		start = start.Bytes(1, protobuf.Message{}.Text(1, key).Bytes(2, valueOf(values[key]))) // hparams: key, value
	}
	start = start.Double(5, float64(began.UnixNano())/1e9) // start_time_secs
	e.plugin("_hparams_/session_start_info", protobuf.Message{}.Bytes(3, start))
	const success = 1
	end := protobuf.Message{}.Number(1, success).Double(2, float64(time.Now().UnixNano())/1e9) // status, end_time_secs
	e.plugin("_hparams_/session_end_info", protobuf.Message{}.Bytes(4, end))
}

// plugin adds an HParamsPluginData of version 0, with the empty tensor that every summary has.
func (e *events) plugin(tag string, content protobuf.Message) {
	about := protobuf.Message{}.Text(1, "hparams").Bytes(2, content)                   // plugin_name, content
	metadata := protobuf.Message{}.Bytes(1, about)                                     // plugin_data
	none := protobuf.Message{}.Number(1, 1).Bytes(2, protobuf.Message{}.Bytes(2, nil)) // dtype DT_FLOAT, tensor_shape of one dim of 0
	value := protobuf.Message{}.Text(1, tag).Bytes(8, none).Bytes(9, metadata)         // tag, tensor, metadata
	e.add(event(0).Bytes(5, protobuf.Message{}.Bytes(1, value)))                       // summary
}

// valueOf is a google.protobuf.Value: a number, a truth value, or words.
func valueOf(v any) protobuf.Message {
	switch v := v.(type) {
	case int:
		return protobuf.Message{}.Double(2, float64(v))
	case uint64:
		return protobuf.Message{}.Double(2, float64(v))
	case float64:
		return protobuf.Message{}.Double(2, v)
	case bool:
		truth := int64(0)
		if v {
			truth = 1
		}
		return protobuf.Message{}.Number(4, truth)
	}
	return protobuf.Message{}.Text(3, fmt.Sprint(v))
}
