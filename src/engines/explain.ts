import type { Trouble } from '../core/trouble.ts';
import type { Exit } from '../ports/process.ts';

/** Finds, in what an engine printed before it ended, the line that says why. Made for llama-server, vLLM and the like. */

/**
 * How many of the last lines are searched: after a failed start enough for the tracebacks of several processes,
 * after a crash so few that a complaint of an hour ago is not taken for its cause.
 */
export const SEARCHED = { start: 400, crash: 40 };

const LONGEST = 300;

type Cause = {
  readonly pattern: RegExp;
  /** Put before the line, where the line alone does not say what it means for the operator. */
  readonly gist?: string;
  readonly except?: RegExp;
  readonly trouble?: Trouble;
};

/** From the most to the least telling. */
const CAUSES: readonly Cause[] = [
  {
    pattern:
      /couldn't bind|address already in use|EADDRINUSE|errno 98\b|port \d+ is (currently |already )?(in use|not available)/i,
    gist: 'its port is in use by another program',
    trouble: 'port_taken',
  },
  {
    pattern:
      /out of (device |host )?memory|outofmemory|cuda(Malloc|MallocAsync)? failed|hipMalloc failed|failed to allocate|allocation failed|not enough memory|insufficient memory|out_of_device_memory|OutOfDeviceMemory|bad_alloc|no available memory for the cache blocks|insufficient vram|memory capacity is unbalanced|free memory on device .* is less than desired|larger than the available KV cache memory|unable to allocate \S+ buffer/i,
    except: /retrying without pipeline parallelism/i,
    gist: 'out of memory',
    trouble: 'out_of_memory',
  },
  {
    pattern:
      /invalid argument: |error while handling argument|unrecognized arguments?:|unknown (option|argument)|\berror: argument -/i,
    trouble: 'bad_flag',
  },
  {
    pattern: /no module named|torch-memory-saver is not installed|inference dependencies for \w+ are not installed/i,
    gist: 'a Python package is missing',
    trouble: 'missing_program',
  },
  {
    pattern:
      /no such file or directory|failed to open|not a directory|permission denied|is not a valid model identifier|could not find the model path|repo id must be in the form|cannot find any model weights/i,
    trouble: 'missing_file',
  },
  {
    pattern: /invalid magic|corrupted|data is not within the file bounds|unknown model architecture/i,
    trouble: 'bad_file',
  },
  { pattern: /\bGGML_(ASSERT|ABORT)|\bCUDA error\b|illegal instruction/i },
  {
    pattern: /(^|[\s.])[A-Z]\w*(Error|Exception|Interrupt): /,
    except: /engine core initialization failed|deprecat|Traceback/i,
  },
  { pattern: /error loading model|failed to load|llama_init_from_model:/i },
  { pattern: /(^|[\s[(:])(error|fatal|panic|exception)\b/i, except: /\b(0|no) errors?\b/i },
];

/** The one line that tells most, with what it means, and of several like it the first: the others follow from it. */
export function tellingLine(lines: readonly string[]): string | undefined {
  const found = findCause(lines);
  if (found === undefined) return undefined;
  const { line, cause } = found;
  return cut(cause?.gist === undefined ? line : `${cause.gist}: ${line}`);
}

/** What kind of trouble it was in, where its words tell. */
export const troubleIn = (lines: readonly string[]): Trouble | undefined => findCause(lines)?.cause?.trouble;

function findCause(lines: readonly string[]): { readonly line: string; readonly cause?: Cause } | undefined {
  const printed = lines.map(withoutStamp).filter((line) => line !== '');
  for (const cause of CAUSES) {
    const line = printed.find((words) => cause.pattern.test(words) && cause.except?.test(words) !== true);
    if (line !== undefined) return { line, cause };
  }
  const last = printed.at(-1);
  return last === undefined ? undefined : { line: last };
}

/** Why a process ended, in one line: how, and what it said last. */
export function inWords(exit: Exit, lines: readonly string[]): string {
  const said = tellingLine(lines);
  return `${howItEnded(exit)}${said === undefined ? '; it printed nothing' : `: ${said}`}`;
}

/**
 * Why a process ended that was at work. What it printed may hold what its clients wrote, and this is told to other clients:
 * only what a line means is said, never the line.
 */
export function crashInWords(exit: Exit, lines: readonly string[]): string {
  const printed = lines.map(withoutStamp);
  const cause = CAUSES.find(
    ({ pattern, gist, except }) =>
      gist !== undefined && printed.some((line) => pattern.test(line) && except?.test(line) !== true),
  );
  return cause?.gist === undefined ? howItEnded(exit) : `${howItEnded(exit)}: ${cause.gist}`;
}

function howItEnded({ code, signal }: Exit): string {
  if (signal === null && code === null) return 'has ended, and its way back from disk hides how';
  if (signal === null) return `ended with code ${code}`;
  const meaning = SIGNALS[signal];
  return `was ended by ${signal}${meaning === undefined ? '' : ` (${meaning})`}`;
}

const SIGNALS: Readonly<Record<string, string>> = {
  SIGKILL: 'killed from outside, often by the kernel when memory runs out',
  SIGSEGV: 'it crashed',
  SIGBUS: 'it crashed; the model file may have been cut short',
  SIGABRT: 'it gave up by itself',
  SIGILL: 'it was built for another processor',
  SIGFPE: 'it crashed',
};

/**
 * llama-server's `0.00.011.587 E `, vLLM's `(EngineCore_DP0 pid=12) ERROR 11-20 12:00:00 [core.py:700] `, SGLang's
 * `[2026-11-20 12:00:00 TP0] `, TabbyAPI's `2026-11-20 12:00:00.123 ERROR:    `.
 */
const STAMP =
  /^\s*(?:\([\w ]+ pid=\d+\)\s*)?(?:\d+\.\d+\.\d+\.\d+ [A-Z] |(?:ERROR|WARNING|INFO|DEBUG|CRITICAL) [\d: -]+(?:\[[^\]]*\] )?|\[\d{4}-\d\d-\d\d [\d:.]+[^\]]{0,40}\] |\d{4}-\d\d-\d\d [\d:.]+ (?:[A-Z]+:\s+)?)?/;

const withoutStamp = (line: string): string => line.replace(STAMP, '').replaceAll(/\s+/g, ' ').trim();

const cut = (line: string): string => (line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`);
