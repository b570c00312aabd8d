import { test } from 'vitest';
import type { Trouble } from '../../../src/core/trouble.ts';
import { inWords, tellingLine, troubleIn } from '../../../src/engines/explain.ts';

/** What real engines printed, and what an operator should be told of it. */
const CASES: readonly { what: string; lines: readonly string[]; tells: string; trouble?: Trouble }[] = [
  {
    what: 'llama-server, no such model',
    lines: [
      "0.00.026.697 I srv    load_model: loading model '/nope.gguf'",
      "0.00.026.874 E gguf_init_from_file: failed to open GGUF file '/nope.gguf' (No such file or directory)",
      '0.00.026.963 E llama_model_load: error loading model: llama_model_loader: failed to load model from /nope.gguf',
      "0.00.027.025 E srv    load_model: failed to load model, '/nope.gguf'",
      '0.00.027.026 I srv    operator(): operator(): cleaning up before exit...',
      '0.00.027.409 E srv  llama_server: exiting due to model loading error',
    ],
    trouble: 'missing_file',
    tells: "gguf_init_from_file: failed to open GGUF file '/nope.gguf' (No such file or directory)",
  },
  {
    what: 'llama-server, a model cut short',
    lines: [
      "0.00.011.587 E llama_model_load: error loading model: tensor 'output.weight' data is not within the file bounds, model is corrupted or incomplete",
      '0.00.011.602 E llama_model_load_from_file_impl: failed to load model',
      '0.00.012.116 E srv  llama_server: exiting due to model loading error',
    ],
    trouble: 'bad_file',
    tells:
      "llama_model_load: error loading model: tensor 'output.weight' data is not within the file bounds, model is corrupted or incomplete",
  },
  {
    what: 'llama-server, not a model',
    lines: [
      "0.00.011.702 E gguf_init_from_reader: invalid magic characters: '----', expected 'GGUF'",
      '0.00.011.802 E llama_model_load_from_file_impl: failed to load model',
    ],
    trouble: 'bad_file',
    tells: "gguf_init_from_reader: invalid magic characters: '----', expected 'GGUF'",
  },
  {
    what: 'llama-server, port taken',
    lines: [
      "0.00.010.163 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 18998",
      '0.00.010.173 I srv    operator(): operator(): cleaning up before exit...',
      '0.00.010.271 E srv  llama_server: exiting due to HTTP server error',
    ],
    trouble: 'port_taken',
    tells:
      "its port is in use by another program: srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 18998",
  },
  {
    what: 'llama-server, a removed flag, its usage after it',
    lines: [
      'error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max',
      '',
      'usage:',
      '--draft, --draft-n, --draft-max N       the argument has been removed. use --spec-draft-n-max or',
      '',
      'to show complete usage, run with -h',
    ],
    trouble: 'bad_flag',
    tells:
      'error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max',
  },
  {
    what: 'llama-server, no room on the GPU',
    lines: [
      '0.01.000.000 W graph_reserve: failed to allocate compute buffers, retrying without pipeline parallelism',
      '0.02.000.000 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of memory',
      '0.02.000.001 E llama_model_load: error loading model: unable to allocate CUDA0 buffer',
    ],
    trouble: 'out_of_memory',
    tells:
      'out of memory: ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of memory',
  },
  {
    what: 'vLLM, no room on the GPU, told by the engine before the server',
    lines: [
      '(EngineCore_DP0 pid=81) ERROR 11-20 12:00:00 [core.py:700] Traceback (most recent call last):',
      '(EngineCore_DP0 pid=81) ERROR 11-20 12:00:00 [core.py:700] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.',
      '(APIServer pid=80) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
    ],
    trouble: 'out_of_memory',
    tells: 'out of memory: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.',
  },
  {
    what: 'vLLM, less free than its share when it starts',
    lines: [
      '(EngineCore_DP0 pid=81) ERROR 11-20 12:00:00 [core.py:700] ValueError: Free memory on device cuda:0 (3.11/23.57 GiB) on startup is less than desired GPU memory utilization (0.9, 21.21 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.',
      '(APIServer pid=80) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
    ],
    trouble: 'out_of_memory',
    tells:
      'out of memory: ValueError: Free memory on device cuda:0 (3.11/23.57 GiB) on startup is less than desired GPU memory utilization (0.9, 21.21 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.',
  },
  {
    what: 'vLLM, too little left for one request',
    lines: [
      "(EngineCore_DP0 pid=81) ERROR 11-20 12:00:00 [core.py:700] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.13 GiB).",
    ],
    trouble: 'out_of_memory',
    tells:
      "out of memory: ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.13 GiB).",
  },
  {
    what: 'vLLM, nothing left for its cache',
    lines: [
      '(EngineCore_DP0 pid=81) ERROR 11-20 12:00:00 [core.py:700] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.',
    ],
    trouble: 'out_of_memory',
    tells:
      'out of memory: ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.',
  },
  {
    what: 'llama-server, whose log of the allocator is off',
    lines: [
      '0.02.000.001 E llama_model_load: error loading model: unable to allocate CUDA0 buffer',
      '0.02.000.002 E llama_model_load_from_file_impl: failed to load model',
    ],
    trouble: 'out_of_memory',
    tells: 'out of memory: llama_model_load: error loading model: unable to allocate CUDA0 buffer',
  },
  {
    what: 'vLLM, a root cause that only the engine names',
    lines: [
      '(EngineCore_DP0 pid=81) ERROR 11-20 12:00:00 [core.py:700] Traceback (most recent call last):',
      '(EngineCore_DP0 pid=81) ERROR 11-20 12:00:00 [core.py:700] ValueError: The number of heads (7) is not divisible by 2',
      '(APIServer pid=80) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
    ],
    tells: 'ValueError: The number of heads (7) is not divisible by 2',
  },
  {
    what: 'vLLM, an argument it does not know',
    lines: ['usage: vllm serve [model_tag] [options]', 'vllm: error: unrecognized arguments: --gpu-memory 1'],
    trouble: 'bad_flag',
    tells: 'vllm: error: unrecognized arguments: --gpu-memory 1',
  },
  {
    what: 'anything else: the last line that is not empty',
    lines: ['starting', 'giving up', ''],
    tells: 'giving up',
  },
  {
    what: 'SGLang, no memory left for its cache',
    lines: [
      '[2026-11-20 12:00:01 TP0] Load weight begin. avail mem=3.10 GB',
      '[2026-11-20 12:00:02 TP0] Scheduler hit an exception: Traceback (most recent call last):',
      '  File "/opt/sglang/model_runner.py", line 900, in init_memory_pool',
      'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.',
      '[2026-11-20 12:00:02] Received sigquit from a child process. It usually means the child failed.',
    ],
    trouble: 'out_of_memory',
    tells: 'out of memory: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.',
  },
  {
    what: 'SGLang, somebody else on one of its GPUs',
    lines: [
      '[2026-11-20 12:00:01 TP1] ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.',
    ],
    trouble: 'out_of_memory',
    tells:
      'out of memory: ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.',
  },
  {
    what: 'SGLang, not installed',
    lines: [
      "/usr/bin/python3: Error while finding module specification for 'sglang.launch_server'",
      "ModuleNotFoundError: No module named 'sglang'",
    ],
    trouble: 'missing_program',
    tells: "a Python package is missing: ModuleNotFoundError: No module named 'sglang'",
  },
  {
    what: 'SGLang, its memory saver is not installed',
    lines: [
      '[2026-11-20 12:00:01] enable_memory_saver is enabled, but torch-memory-saver is not installed. Please install it via `pip3 install torch-memory-saver`. ',
      'ImportError: cannot import name torch_memory_saver',
    ],
    trouble: 'missing_program',
    tells:
      'a Python package is missing: enable_memory_saver is enabled, but torch-memory-saver is not installed. Please install it via `pip3 install torch-memory-saver`.',
  },
  {
    what: 'SGLang, a flag that it does not know, and one whose value it does not take',
    lines: [
      'usage: launch_server.py [-h] --model-path MODEL_PATH',
      "launch_server.py: error: argument --tp-size: invalid int value: 'two'",
    ],
    trouble: 'bad_flag',
    tells: "launch_server.py: error: argument --tp-size: invalid int value: 'two'",
  },
  {
    what: 'SGLang, a model that is nowhere',
    lines: [
      "OSError: /models/nope is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
    ],
    trouble: 'missing_file',
    tells:
      "OSError: /models/nope is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
  },
  {
    what: 'TabbyAPI, its port taken and the next one taken in its place',
    lines: ['2026-11-20 12:00:00.123 WARNING:  Port 5000 is currently in use. Switching to 5001.'],
    trouble: 'port_taken',
    tells: 'its port is in use by another program: Port 5000 is currently in use. Switching to 5001.',
  },
  {
    what: 'TabbyAPI, without its inference packages',
    lines: [
      'ERROR: Inference dependencies for TabbyAPI are not installed.',
      'Please update your environment by running an update script',
    ],
    trouble: 'missing_program',
    tells: 'a Python package is missing: ERROR: Inference dependencies for TabbyAPI are not installed.',
  },
  {
    what: 'TabbyAPI, no room for the model',
    lines: ['2026-11-20 12:00:00.123 ERROR:    Sent to request: Insufficient VRAM in split for model and cache'],
    trouble: 'out_of_memory',
    tells: 'out of memory: Sent to request: Insufficient VRAM in split for model and cache',
  },
];

for (const { what, lines, tells, trouble } of CASES)
  test(`the telling line of ${what}`, ({ expect }) => {
    expect(tellingLine(lines)).toBe(tells);
    expect(troubleIn(lines)).toBe(trouble);
  });

test('a count of no errors is no error', ({ expect }) => {
  expect(tellingLine(['checked: 0 errors', 'bye'])).toBe('bye');
});

test('a line without end is cut', ({ expect }) => {
  expect(tellingLine([`error: ${'x'.repeat(100_000)}`])?.length).toBe(300);
});

test('an exit is told with its code or the meaning of its signal', ({ expect }) => {
  expect(inWords({ code: 3, signal: null }, ['bad day'])).toBe('ended with code 3: bad day');
  expect(inWords({ code: 1, signal: null }, [])).toBe('ended with code 1; it printed nothing');
  expect(inWords({ code: null, signal: 'SIGKILL' }, [])).toContain('often by the kernel when memory runs out');
  expect(inWords({ code: null, signal: 'SIGILL' }, [])).toContain('another processor');
});
