import { describe, test } from 'vitest';
import { goodConfig, onlyStage, problemsOf } from '../../helpers/config.ts';

const withHooks = (hooks: object) => ({ models: { a: { backend: 'stub', hooks } } });

describe('hooks', () => {
  test.for<[string, object, string]>([
    [
      'nothing to do',
      { before_start: {} },
      'models.a.hooks.before_start has nothing to do. Give it either `command` or `url`.',
    ],
    [
      'two things to do',
      { after_wake: { command: 'true', url: 'http://127.0.0.1:1' } },
      'models.a.hooks.after_wake has both a command and a url. Give it either `command` or `url`.',
    ],
    [
      'a stop that could be held up',
      { before_stop: { command: 'true', fatal: true } },
      'models.a.hooks.before_stop.fatal is true, and a stop is never held up: what fails there is only told. Leave it out.',
    ],
    [
      'a moment that there is not',
      { befor_start: { command: 'true' } },
      'models.a.hooks.befor_start is not a key here. Did you mean "before_start"?',
    ],
    [
      'a key that there is not',
      { before_start: { comand: 'true' } },
      'models.a.hooks.before_start.comand is not a key here. Did you mean "command"?',
    ],
  ])('%s is an error', ([, hooks, problem], { expect }) => {
    expect(problemsOf(withHooks(hooks))).toContain(problem);
  });

  test.for(['ftp://host/x', 'http://user:pass@host/x', 'host:80'])('%s is no URL for a hook', (url, { expect }) => {
    expect(problemsOf(withHooks({ after_start: { url } }))).toEqual([
      expect.stringMatching(/^models.a.hooks.after_start.url must be a URL that begins with http/),
    ]);
  });

  test('are split as a command line is', ({ expect }) => {
    const { a } = goodConfig(withHooks({ before_start: { command: 'mount "/the models"' } })).models;
    expect(a).toMatchObject({ hooks: { before_start: { command: ['mount', '/the models'], timeout_secs: 30 } } });
    expect(onlyStage(goodConfig(withHooks({}))).models).toHaveLength(1);
  });
});
