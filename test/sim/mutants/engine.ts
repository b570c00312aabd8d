import { of, type Mutant } from './mutant.ts';

const engine = of('engine.ts');

export const ENGINE: readonly Mutant[] = [
  engine('a late answer counts', 'return event.epoch === engine.epoch ? finished(', 'return true ? finished('),
  engine(
    'a late failure counts',
    'return event.epoch === engine.epoch ? commandFailed(',
    'return true ? commandFailed(',
  ),
  {
    ...engine(
      'a loss of another sleep counts',
      "event.born === engine.born && (engine.phase.kind === 'asleep'",
      "(engine.phase.kind === 'asleep'",
    ),
    losses: true,
  },
  {
    ...engine(
      'a lost sleep is let be',
      "case 'sleep-lost':\n      return event.born === engine.born &&",
      "case 'sleep-lost':\n      return false &&",
    ),
    losses: true,
  },
  engine('any exit counts', 'return event.born === engine.born ? processLost(', 'return true ? processLost('),
  engine('a verdict on another process counts', 'event.born === engine.born && engine.phase', 'engine.phase'),
  engine('the birth is not noted', 'engine: { ...step.engine, born: step.engine.epoch }', 'engine: step.engine'),
  engine('deadlines come early', 'due === undefined || now < due', 'due === undefined'),
  engine(
    'deadlines never come',
    "  return commandFailed(engine, { reason: 'it did not finish in time', trouble: 'too_late' }, now, rules);",
    '  return still(engine);',
  ),
  engine(
    'a sleep that failed counts',
    'return escalate(engine, { from: phase.level, reason: why.reason }, now, rules);',
    'return finished(engine, now, rules);',
  ),
  engine('a sleep that failed is tried again', 'rules.naps[at + 1]', 'rules.naps[at]'),
  engine('a sleep that failed goes lighter', 'rules.naps[at + 1]', 'rules.naps[at - 1]'),
  engine('a level that is not allowed leads to the first', 'at < 0 ? undefined : rules', 'rules'),
  engine(
    'a sleep that failed is let be',
    'if (next === undefined) return stop(engine, undefined, now, rules, instead);',
    "if (next === undefined) return still({ ...engine, epoch: engine.epoch + 1, phase: { kind: 'awake', since: now } });",
  ),
  engine(
    'a stop without proof counts',
    'return stuck(engine, undefined, why.reason, now, rules);',
    'return finished(engine, now, rules);',
  ),
  engine(
    'a reaping without proof counts',
    'return stuck(engine, phase.failed, why.reason, now, rules);',
    'return finished(engine, now, rules);',
  ),
  engine('a stop that is given up keeps its epoch', 'epoch: engine.epoch + 1, phase });', 'phase });'),
  engine(
    'failed before it is reaped',
    'return stop({ ...engine, failures: failed.failure.attempts }, failed, now, rules);',
    "return still({ ...engine, epoch: engine.epoch + 1, phase: { kind: 'failed', ...failed } });",
  ),
  engine(
    'the pause after a failure is skipped',
    "goal.kind === 'awake' && now >= phase.retryAt",
    "goal.kind === 'awake'",
  ),
  engine(
    'the failure is forgotten with the process',
    "phase: { kind: 'failed', ...phase.failed }",
    "phase: { kind: 'off' }",
  ),
  engine(
    'a failed engine is not looked at again',
    "return goal.kind === 'awake' ? phase.retryAt : undefined;",
    'return undefined;',
  ),
  engine(
    'a stop waits for what it makes pointless',
    "      return goal.kind === 'off' ? stop(engine, undefined, now, rules) : still(engine);\n    case 'stopping':",
    "      return still(engine);\n    case 'stopping':",
  ),
  engine(
    'an exit in its sleep is not noticed',
    "switch (phase.kind) {\n    case 'starting':\n    case 'awake':\n    case 'falling-asleep':\n    case 'asleep':",
    "if (phase.kind === 'asleep') return still(engine);\n  switch (phase.kind) {\n    case 'starting':\n    case 'awake':\n    case 'falling-asleep':\n    case 'asleep':",
  ),
  engine(
    'a sleeper is never ended',
    "      return stop(engine, undefined, now, rules);\n    case 'starting':\n    case 'waking'",
    "      return still(engine);\n    case 'starting':\n    case 'waking'",
  ),
];
