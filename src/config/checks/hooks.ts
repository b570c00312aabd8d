import { HOOKS, type HookName } from '../../core/hooks.ts';
import { eachModel, type CheckFinding } from './check.ts';

const NAMES = Object.keys(HOOKS).filter((name): name is HookName => name in HOOKS);

/** Each hook has one thing to do, and what cannot be held up is not. */
export const hooksMakeSense = eachModel((name, model) => {
  const hooks = 'hooks' in model ? model.hooks : undefined;
  return NAMES.flatMap((when): readonly CheckFinding[] => {
    const hook = hooks?.[when];
    if (hook === undefined) return [];
    const path = ['models', name, 'hooks', when];
    const found: CheckFinding[] = [];
    if ((hook.command === undefined) === (hook.url === undefined)) {
      const message = hook.url === undefined ? 'has nothing to do' : 'has both a command and a url';
      found.push({ path, message, fix: 'Give it either `command` or `url`.' });
    }
    if (hook.fatal && HOOKS[when].fatal === undefined) {
      const message = 'is true, and a stop is never held up: what fails there is only told';
      found.push({ path: [...path, 'fatal'], message, fix: 'Leave it out.' });
    }
    return found;
  });
});
