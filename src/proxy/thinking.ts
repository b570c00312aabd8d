import type { Refusal } from './envelope.ts';
import type { Shape, Touch } from './rewrite.ts';
import { TEMPLATE_PARAMS, templateParams } from './template-params.ts';

/** What the word `thinking` of a request may be for a model, and how its engine is told. */
export type Thinking = {
  readonly modes: readonly string[];
  /** `template`: by `enable_thinking` among the parameters of the chat template. `as it is`: the engine takes the word itself. */
  readonly told: 'template' | 'as it is';
};

const WORDS = ['default', 'enabled', 'disabled'];

/** Why a request with this word is not served. */
export function thinkingFlaw(word: string | undefined, { modes }: Thinking): Refusal | undefined {
  if (word === undefined || modes.includes(word) || word === 'default') return undefined;
  if (!WORDS.includes(word)) {
    const message = `\`thinking\` must be one of ${WORDS.join(', ')}, or an object for engines that take one.`;
    return { code: 'unfit_body', message, param: 'thinking' };
  }
  const message = `This model takes \`thinking\`: ${modes.join(', ')}; not ${word}.`;
  return { code: 'thinking_unsupported', message, param: 'thinking' };
}

const STRIP: Touch = { kind: 'strip' };

/** How the word is told to the engine, in place of what the client wrote. */
export function thinkingShape(word: string, { told: how }: Thinking): Shape | undefined {
  if (word === 'default') return { reads: ['thinking'], rewrite: () => new Map([['thinking', STRIP]]) };
  if (how === 'as it is') return undefined;
  return {
    reads: ['thinking', TEMPLATE_PARAMS],
    rewrite: (values) => {
      const told = templateParams(values, { enable_thinking: word === 'enabled' });
      return 'code' in told
        ? told
        : new Map([
            ['thinking', STRIP],
            [TEMPLATE_PARAMS, told],
          ]);
    },
  };
}
