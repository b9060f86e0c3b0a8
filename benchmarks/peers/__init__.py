"""One module per library: functions that build the steps to measure, by name.

`encode` and `train` take `shape` (a key of `shapes.SHAPES`) and `batches` (a list of batch sizes),
`predict` takes `shape`, `texts` and `tokenizer` (a folder). `backend` and `dtype` come with each. A
library is imported in the function that needs it, in its own process.
"""
