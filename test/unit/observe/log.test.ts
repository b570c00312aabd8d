import { describe, test } from 'vitest';
import type { Fact } from '../../../src/core/facts.ts';
import { modelId } from '../../../src/core/kinds.ts';
import { readLogSettings, type LogCircumstances } from '../../../src/observe/levels.ts';
import { createLog } from '../../../src/observe/log.ts';
import { StillClock } from '../../helpers/still-clock.ts';
import { alpha, beta, EVERY_FACT, failure, request, swapRecord } from './every-fact.ts';

function openLog(circumstances: Partial<LogCircumstances> = {}) {
  const read = readLogSettings({ env: {}, tty: true, verbose: false, ...circumstances });
  if (read.kind === 'problems') throw new Error(read.problems.join('\n'));
  const written: string[] = [];
  const clock = new StillClock();
  const sink = {
    lost: 0,
    write(line: string) {
      written.push(line);
    },
    takeLost() {
      const count = this.lost;
      this.lost = 0;
      return count;
    },
  };
  return { log: createLog(read.settings, sink, clock), written, clock, sink };
}

const human = { env: { CATNAP_LOG_FORMAT: 'human', CATNAP_LOG: 'debug' }, tty: false };

function told(fact: Fact, circumstances: Partial<LogCircumstances> = human): string {
  const { log, written } = openLog(circumstances);
  log.report(fact);
  return written.join('').replaceAll('12:04:05.123 ', '');
}

const LINES: { readonly [Kind in Fact['kind']]: string } = {
  'restart-asked': 'info  SIGUSR2: a fresh catnap is to take over\n',
  'restart-called-off':
    'error SIGUSR2: no fresh catnap takes over, and all stays as it was\n                   | models.beta.tokns: is not known\n',
  'handed-over':
    'info  catnap 1.2.4 has taken over with 2 engines; nobody was let in for 84 ms; 1 open request is served here\n',
  'taken-over':
    'info  this catnap has taken over 2 engines as they were from catnap 1.2.3, which still serves 1 request\n',
  left: 'info  what was open before the restart has ended; this catnap leaves after 2 min 5 s\n',
  listening: 'info  catnap listens on http://127.0.0.1:3000\n',
  stopped: 'info  catnap has stopped after 2 min 5 s\n',
  'shutdown-asked': 'info  SIGTERM: shutting down once 3 requests (2 in flight, 1 waiting) are answered\n',
  warned: 'warn  metrics_port 9090 is taken; metrics stay on the main port\n',
  'leftover-reaped': 'info  ended an engine of beta (pid 41, port 8002) that an earlier catnap left running\n',
  'engine-moved': 'debug beta: off -> starting\n',
  'engine-failed':
    'error beta could not start, 2 times in a row: exited with code 1: no such file; it may be tried again after 2.0 s\n' +
    '                   | loading beta.gguf\n' +
    '                   | error: no such file\n',
  'sleep-escalated':
    'warn  beta could not be put to sleep at level 1: vLLM /sleep: it answered 500; it is stopped instead (level 5)\n' +
    '                   | error: no\n',
  'engine-stuck': 'error beta could not be stopped: pid 41 is still there; it is tried again\n',
  'hook-ended':
    'warn  the hook before_sleep of beta (level 1) ended with code 3: no cache server; it goes deeper instead\n',
  'engine-started': 'debug beta has started (pid 41, port 8002)\n                   | llama-server --port 8002\n',
  'swap-planned': 'info  swapping alpha for beta for 3 waiting requests\n',
  'swap-overlaps': 'debug beta comes in while alpha still leaves: 14000 MiB are free by measurement\n',
  'start-short-of-memory':
    'warn  beta ran out of memory while starting: vLLM ended with code 1: out of memory; alpha makes room, and it is started once more\n',
  'host-memory-short':
    'info  alpha goes to level 2 from level 1, where it holds 9000 MiB: sleepers may hold 16000 MiB of host memory (host_ram_limit_mib) and beta needs room\n',
  'model-demoted': 'info  beta has had nothing to do for 10 min and is stopped (level 5)\n',
  'requests-frozen': 'info  alpha is suspended with 2 requests in flight (level 3), for beta\n',
  'requests-thawed': 'info  alpha goes on with 2 requests after 1.5 s\n',
  'swap-finished': 'info  beta is awake after 84 ms (alpha put away 12 ms, beta started 70 ms)\n',
  'prefetch-ended': 'debug read 3 MiB of beta ahead in 1.5 s: that is all of it\n',
  'next-ignored': 'debug an announcement of gamma is ignored: there is no such model for this client\n',
  'request-returned': 'info  a request for alpha that a drain cut short waits at its place again\n',
  'leases-cut': 'warn  2 requests to alpha cut off (drained)\n',
  'request-arrived': 'debug a request for alpha arrived\n',
  'request-granted': 'debug a request for alpha got its turn after 84 ms\n',
  'request-ended': 'debug POST /v1/chat/completions for alpha: served, 200 after 1.2 s, 84 ms of it waiting [r-1]\n',
  'config-reloaded':
    'info  SIGHUP: the config was read again: added gamma; removed delta; changed beta (extra_args; it starts anew); set policy.max_waiting; 1 model as before\n',
  'config-refused':
    'error SIGHUP: the config is not used, and all stays as it was\n                   | port: needs a restart of catnap\n',
  'model-forgotten': 'info  beta is gone, and the config has it no more\n',
  'certificate-renewed': 'info  new connections see the new certificate in cert.pem\n',
  'admin-acted': 'info  boss at 127.0.0.1: POST /v1/admin/models/beta/load was answered 200 [r-1]\n',
  'client-error': 'debug a client sent what is no HTTP request: bad header\n',
};

describe('what a person reads', () => {
  test.for(Object.values(EVERY_FACT))('$kind', (fact, { expect }) => {
    expect(told(fact)).toBe(LINES[fact.kind]);
  });

  test.for<[string, Fact]>([
    [
      'warn  somebody at 10.0.0.7: POST /v1/admin/models/beta/load was answered 403 [r-1]',
      { ...EVERY_FACT['admin-acted'], key: undefined, peer: '10.0.0.7', status: 403 },
    ],
    [
      'info  boss at 127.0.0.1: POST /control/sleep (alpha, level=1) was answered 200 [r-1]',
      { ...EVERY_FACT['admin-acted'], action: 'POST /control/sleep', model: alpha, terms: ['level=1'] },
    ],
    [
      'info  operators are answered on http://127.0.0.1:3001',
      { kind: 'listening', what: 'admin', url: 'http://127.0.0.1:3001' },
    ],
    [
      'debug POST /v1/chat/completions for alpha by laptop: served, 200 after 1.2 s, 84 ms of it waiting [r-1]',
      { kind: 'request-ended', request: { ...request, key: 'laptop' } },
    ],
    ['info  SIGINT: shutting down', { kind: 'shutdown-asked', by: 'SIGINT', inFlight: 0, waiting: 0 }],
    [
      'info  metrics are at http://127.0.0.1:9090',
      { kind: 'listening', what: 'metrics', url: 'http://127.0.0.1:9090' },
    ],
    [
      'info  waking beta from level 1 for 1 waiting request',
      { kind: 'swap-planned', swap: 1, to: beta, from: [], level: 1, waiting: 1 },
    ],
    [
      'info  starting beta for 1 waiting request',
      { kind: 'swap-planned', swap: 1, to: beta, from: [], level: 5, waiting: 1 },
    ],
    [
      'info  beta is awake after 1.5 s (alpha and gamma drained 5 ms, memory cleared 20 ms, beta woken from level 1 1.2 s, ready 30 ms)',
      {
        kind: 'swap-finished',
        record: {
          ...swapRecord,
          from: [alpha, modelId('gamma')],
          totalMs: 1_500,
          legs: { drain: 5, clear: 20, wake: 1_200, ready: 30 },
          level: 1,
        },
      },
    ],
    [
      'warn  beta did not wake, given up after 84 ms (alpha put away 12 ms, beta started 70 ms)',
      { kind: 'swap-finished', record: { ...swapRecord, result: 'failed' } },
    ],
    [
      'warn  beta failed while awake: killed by SIGSEGV; it may be tried again at once',
      {
        ...EVERY_FACT['engine-failed'],
        failure: { ...failure, during: 'awake', reason: 'killed by SIGSEGV', attempts: 1, giveUp: false },
        retryInMs: 0,
        lastLines: [],
      },
    ],
    [
      'error could not end an engine of beta (pid 41, port 8002) that an earlier catnap left running; its port and memory are still taken',
      { ...EVERY_FACT['leftover-reaped'], gone: false },
    ],
  ])('%s', ([line, fact], { expect }) => {
    expect(told(fact)).toBe(`${line}\n`);
  });

  test('nothing that is written can move the cursor or forge a line', ({ expect }) => {
    const line = told({ kind: 'warned', message: 'evil \u001b[2J\nfake line' });
    expect(line).toBe('warn  evil \\x1b[2J\\x0afake line\n');
  });

  test('colours only the level, only on a terminal, and not with NO_COLOR', ({ expect }) => {
    const fact = EVERY_FACT.warned;
    expect(told(fact, { env: {}, tty: true })).toContain('\u001b[33mwarn \u001b[39m metrics_port');
    expect(told(fact, { env: { NO_COLOR: '1' }, tty: true })).toBe(LINES.warned);
  });
});

describe('what a program reads', () => {
  test('is one JSON object on a line, with the fact and its fields', ({ expect }) => {
    const { log, written } = openLog({ tty: false });
    log.report(EVERY_FACT['swap-finished']);
    expect(written).toHaveLength(1);
    expect(JSON.parse(written[0] ?? '')).toEqual({
      level: 'info',
      time: new Date(2026, 10, 20, 12, 4, 5, 123).toISOString(),
      target: 'swap',
      fact: 'swap-finished',
      swap: 7,
      to: 'beta',
      from: ['alpha'],
      totalMs: 84,
      legs: { drain: 0, sleep: 12, wake: 70 },
      overheadMs: 2,
      result: 'done',
      wokenFrom: 5,
      msg: 'beta is awake after 84 ms (alpha put away 12 ms, beta started 70 ms)',
    });
  });

  test('has its numbers to the microsecond, and no further', ({ expect }) => {
    const { log, written } = openLog({ tty: false });
    log.report({ kind: 'stopped', uptimeMs: 1234.567_891_234 });
    expect(JSON.parse(written[0] ?? '')).toMatchObject({ uptimeMs: 1234.568 });
  });

  test.for(Object.values(EVERY_FACT))('no field of $kind hides one of the line itself', (fact, { expect }) => {
    const { log, written } = openLog({ env: { CATNAP_LOG: 'debug' }, tty: false });
    log.report(fact);
    const line = written.join('');
    for (const key of ['level', 'time', 'target', 'fact', 'msg']) {
      expect(line.split(`"${key}":`), key).toHaveLength(2);
    }
    expect(JSON.parse(line)).toMatchObject({ fact: fact.kind });
  });
});

describe('which requests are worth a line', () => {
  const line = (change: Partial<typeof request>) =>
    told({ kind: 'request-ended', request: { ...request, ...change } }, { env: { NO_COLOR: '1' }, tty: true });

  test('not those that were served, refused for the client’s own fault, or left by the client', ({ expect }) => {
    expect(line({})).toBe('');
    expect(line({ outcome: 'rejected', status: 404, code: 'model_not_found', model: undefined })).toBe('');
    expect(line({ outcome: 'served', status: 422 })).toBe('');
    expect(line({ outcome: 'abandoned', status: 499 })).toBe('');
    expect(line({ outcome: 'aborted', status: 499 })).toBe('');
  });

  test('those that failed for another reason, as loud as it is bad', ({ expect }) => {
    expect(line({ outcome: 'failed', status: 502, code: 'engine_died' })).toMatch(/^warn .*failed, 502 engine_died/);
    expect(line({ outcome: 'rejected', status: 429, code: 'lane_full' })).toMatch(/^warn .*429 lane_full/);
    expect(line({ outcome: 'rejected', status: 503, code: 'shutting_down' })).toMatch(/^info /);
    expect(line({ outcome: 'failed', status: 500, code: 'internal' })).toMatch(/^error /);
    expect(line({ outcome: 'broken', status: 200 })).toMatch(/^warn .*broken, 200/);
    expect(line({ outcome: 'served', status: 500 })).toMatch(/^warn .*served, 500/);
  });

  test('the query of a request is never logged', ({ expect }) => {
    const fact: Fact = { kind: 'request-ended', request: { ...request, path: '/v1/models?api_key=hush' } };
    for (const format of ['human', 'json']) {
      const seen = told(fact, { env: { CATNAP_LOG: 'debug', CATNAP_LOG_FORMAT: format }, tty: false });
      expect(seen).toContain('/v1/models');
      expect(seen).not.toContain('hush');
    }
  });

  test('a crowd of the same failure is thinned out and counted', ({ expect }) => {
    const { log, written, clock } = openLog({ env: { NO_COLOR: '1' } });
    const refused: Fact = {
      kind: 'request-ended',
      request: { ...request, outcome: 'rejected', status: 429, code: 'lane_full' },
    };
    for (let sent = 0; sent < 1_000; sent += 1) log.report(refused);
    expect(written).toHaveLength(5);
    log.report({ ...refused, request: { ...refused.request, model: beta } });
    expect(written).toHaveLength(6);
    clock.ms = 10_000;
    log.report(refused);
    expect(written.at(-1)).toMatch(/\(and 995 more like it before\)\n$/);
  });
});

describe('CATNAP_LOG', () => {
  test('says what is logged, for all targets and for single ones', ({ expect }) => {
    const env = (value: string) => ({ env: { CATNAP_LOG: value, NO_COLOR: '1' }, tty: true });
    expect(told(EVERY_FACT['engine-moved'], env(''))).toBe('');
    expect(told(EVERY_FACT['engine-moved'], env('warn, engine = debug'))).toBe(LINES['engine-moved']);
    expect(told(EVERY_FACT['swap-planned'], env('warn,engine=debug'))).toBe('');
    expect(told(EVERY_FACT['engine-failed'], env('info,engine=off'))).toBe('');
    expect(told(EVERY_FACT['engine-failed'], env('off'))).toBe('');
  });

  test('-v takes the place of the level for all', ({ expect }) => {
    const env = { CATNAP_LOG: 'warn,request=info', NO_COLOR: '1' };
    expect(told(EVERY_FACT['engine-moved'], { env, verbose: true })).toBe(LINES['engine-moved']);
    expect(told(EVERY_FACT['request-arrived'], { env, verbose: true })).toBe('');
  });

  test('every mistake is named, with what would be right', ({ expect }) => {
    const read = readLogSettings({
      env: { CATNAP_LOG: 'loud,engin=debug,swap=verbose', CATNAP_LOG_FORMAT: 'xml' },
      tty: true,
      verbose: false,
    });
    expect(read).toEqual({
      kind: 'problems',
      problems: [
        'CATNAP_LOG: "loud" is not a level. Use error, warn, info, debug or off.',
        'CATNAP_LOG: "engin=debug" names no target. Write target=level with one of app, engine, swap, request, output.',
        'CATNAP_LOG: "verbose" is not a level. Use error, warn, info, debug or off.',
        'CATNAP_LOG_FORMAT: "xml" is not a format. Use human or json.',
      ],
    });
  });
});

describe('what engines print', () => {
  test('is hidden, and shown with the model’s name when asked for', ({ expect }) => {
    const quiet = openLog();
    quiet.log.engineLine(alpha, 'loaded');
    expect(quiet.written).toEqual([]);
    expect(quiet.log.showsOutput).toBe(false);
    for (const circumstances of [{ verbose: true }, { env: { CATNAP_LOG: 'output=debug' } }]) {
      const { log, written } = openLog({ env: { NO_COLOR: '1' }, ...circumstances });
      expect(log.showsOutput).toBe(true);
      log.engineLine(alpha, 'loaded \u001b[31m100 %');
      expect(written.join('')).toContain('alpha | loaded \\x1b[31m100 %\n');
    }
  });
});

test('lines that nobody read in time are counted in the next one', ({ expect }) => {
  const { log, written, sink } = openLog({ env: { NO_COLOR: '1' } });
  sink.lost = 3;
  log.report(EVERY_FACT.warned);
  log.report(EVERY_FACT.warned);
  expect(written.map((line) => line.slice(13))).toEqual([
    'warn  3 log lines lost: nobody read them in time\n',
    LINES.warned,
    LINES.warned,
  ]);
});
