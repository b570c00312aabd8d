import { z } from 'zod';
import type { Refusal } from './envelope.ts';
import type { Rewrite, Shape, Touch } from './rewrite.ts';
import { TEMPLATE_PARAMS, templateParams } from './template-params.ts';

/** Where a request of this path holds what is to be translated; undefined where it holds no conversation. */
export function translationIn(target: string): Shape | undefined {
  switch (/^(?:\/v1)?(\/[^?]*?)\/?(?:\?|$)/.exec(target)?.[1]) {
    case '/chat/completions':
    case '/apply-template':
      return shapeOf('messages', 'text');
    case '/responses':
      return shapeOf('input', 'input_text');
    default:
      return undefined;
  }
}

const SOURCE = 'source_lang_code';
const TARGET = 'target_lang_code';

type PartType = 'text' | 'input_text';

const shapeOf = (field: 'messages' | 'input', type: PartType): Shape => ({
  reads: [field, SOURCE, TARGET, TEMPLATE_PARAMS],
  rewrite: (values) => structured(field, type, values),
});

const Part = z.looseObject({ type: z.string(), text: z.string().optional() });
type Part = z.infer<typeof Part>;
const Message = z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(Part)]) });
const Conversation = z.array(Message);

/** The request in the structure that TranslateGemma's own template takes: one user turn, one part, which says what it is translated from and to. */
function structured(field: string, type: PartType, values: ReadonlyMap<string, unknown>): Rewrite | Refusal {
  const found = partOf(field, values.get(field));
  if (found.kind === 'refused') return found.refusal;
  const asked = found.part;
  const { text = '' } = asked;
  const target = codeIn(values.get(TARGET) ?? asked[TARGET]);
  if (target === undefined) return wrongCode(TARGET, 'the language to translate to');
  const given = values.get(SOURCE) ?? asked[SOURCE] ?? 'auto';
  const known = codeIn(given);
  if (known === undefined) return wrongCode(SOURCE, 'the language to translate from, `auto` or `mixed`');
  const mixed = /^(?:auto|mixed)$/i.test(known);
  const codes = { [SOURCE]: mixed ? fallbackFor(target) : known, [TARGET]: target };
  // llama-server takes nothing of a part but its text, and has the codes from the parameters of the template instead.
  const params = templateParams(values, codes);
  if ('code' in params) return params;
  const part = { type, ...codes, text: mixed ? `${DETECT}\n\n${text}` : text };
  return new Map<string, Touch>([
    [SOURCE, { kind: 'strip' }],
    [TARGET, { kind: 'strip' }],
    [TEMPLATE_PARAMS, params],
    [field, { kind: 'set', json: JSON.stringify([{ role: 'user', content: [part] }]) }],
  ]);
}

const DETECT =
  'The text below may hold several languages. Detect the source language of each segment by itself and translate every segment.';

/** The template knows no unknown source, so it is told one that there is, and not the target's. */
const fallbackFor = (target: string): string => (/^en(?:$|[-_])/i.test(target) ? 'es' : 'en');

/** The one part that is to be translated. */
function partOf(field: string, said: unknown): Found {
  if (field === 'input' && typeof said === 'string') return alone(said);
  const read = Conversation.safeParse(said);
  if (!read.success) return none(field, `\`${field}\` must be a list of messages, each with a role and a text.`);
  const [message, ...others] = read.data;
  if (message === undefined || others.length > 0 || message.role !== 'user') {
    return none(field, `This model translates one text at a time: \`${field}\` must be one message of the user.`);
  }
  const { content } = message;
  if (typeof content === 'string') return alone(content);
  const [part, ...more] = content;
  if (part?.text === undefined || more.length > 0 || (part.type !== 'text' && part.type !== 'input_text')) {
    return none(field, `This model translates text alone: the content of \`${field}\` must be one text.`);
  }
  return { kind: 'part', part };
}

type Found = { readonly kind: 'part'; readonly part: Part } | { readonly kind: 'refused'; readonly refusal: Refusal };

const alone = (text: string): Found => ({ kind: 'part', part: { type: 'text', text } });
const none = (field: string, message: string): Found => ({ kind: 'refused', refusal: flaw(field, message) });

/** Such as `de`, `zh-Hant` or `pt_BR`. */
const CODE = /^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}$/;

const codeIn = (value: unknown): string | undefined =>
  typeof value === 'string' && CODE.test(value) ? value : undefined;

const wrongCode = (key: string, what: string): Refusal =>
  flaw(key, `\`${key}\` must be ${what}, as a code such as "de" or "zh-Hant".`);

const flaw = (param: string, message: string): Refusal => ({ code: 'invalid_request', message, param });
