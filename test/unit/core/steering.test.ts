import { test } from 'vitest';
import { modelId, ticketId } from '../../../src/core/kinds.ts';
import { Steering } from '../../../src/core/steering.ts';

const pinned = (name: string) => ({ kind: 'manual', pinned: modelId(name) });

/** What happens to the mode, word by word: `pin 1 a`, `done 1`, `fail 1`, `manual`, `auto`. */
function after(...words: readonly string[]): unknown {
  const steering = new Steering();
  for (const word of words) {
    const [verb, order = '', model = ''] = word.split(' ');
    if (verb === 'pin') steering.pin(ticketId(Number(order)), modelId(model));
    else if (verb === 'done') steering.done(ticketId(Number(order)));
    else if (verb === 'fail') steering.failed(ticketId(Number(order)));
    else steering.set(verb === 'manual' ? 'manual' : 'auto');
  }
  return steering.mode;
}

test.for([
  { what: 'nothing', words: [], mode: { kind: 'auto' } },
  { what: 'manual without a pin', words: ['manual'], mode: { kind: 'manual', pinned: undefined } },
  { what: 'manual keeps the pin', words: ['pin 1 a', 'manual'], mode: pinned('a') },
  { what: 'auto drops the pin', words: ['pin 1 a', 'done 1', 'auto'], mode: { kind: 'auto' } },
  { what: 'a pin that failed', words: ['pin 1 a', 'fail 1'], mode: { kind: 'auto' } },
  { what: 'a second pin that failed', words: ['pin 1 a', 'done 1', 'pin 2 b', 'fail 2'], mode: pinned('a') },
  {
    what: 'both failed, the later one first',
    words: ['pin 1 a', 'pin 2 b', 'fail 2', 'fail 1'],
    mode: { kind: 'auto' },
  },
  {
    what: 'both failed, the earlier one first',
    words: ['pin 1 a', 'pin 2 b', 'fail 1', 'fail 2'],
    mode: { kind: 'auto' },
  },
  { what: 'the earlier one failed', words: ['pin 1 a', 'pin 2 b', 'fail 1', 'done 2'], mode: pinned('b') },
  {
    what: 'the earlier one failed after the later one was done',
    words: ['pin 1 a', 'pin 2 b', 'done 2', 'fail 1'],
    mode: pinned('b'),
  },
  { what: 'somebody said auto meanwhile', words: ['manual', 'pin 1 a', 'auto', 'fail 1'], mode: { kind: 'auto' } },
  { what: 'an order that has pinned nothing', words: ['pin 1 a', 'fail 7', 'done 8'], mode: pinned('a') },
])('the mode after $what', ({ words, mode }, { expect }) => {
  expect(after(...words)).toEqual(mode);
});
