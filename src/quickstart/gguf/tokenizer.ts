import type { Metadata } from './metadata.ts';

/** A byte-level BPE vocabulary (GPT-2's kind): every byte, the chat markers and some whole words. */
export type Tokenizer = {
  readonly tokens: readonly string[];
  readonly metadata: Metadata;
  /** The number of a text that is one token. */
  idOf(text: string): number;
};

const END_OF_TEXT = '<|endoftext|>';
const TURN_START = '<|im_start|>';
export const TURN_END = '<|im_end|>';
const MARKERS = [END_OF_TEXT, TURN_START, TURN_END];

const KIND = { normal: 1, control: 3, unused: 5 } as const;

/** Vocabularies grow to a multiple of this, which keeps every derived size even and aligned. */
const STEP = 32;

const CHAT_TEMPLATE =
  `{% for message in messages %}{{ '${TURN_START}' + message['role'] + '\\n' + message['content'] + '${TURN_END}' + '\\n' }}{% endfor %}` +
  `{% if add_generation_prompt %}{{ '${TURN_START}assistant\\n' }}{% endif %}`;

/**
 * `words` become tokens that prompts are cut into, as in any language model; `answers` become tokens that only the model
 * itself says, so that no prompt can end in one.
 */
export function makeTokenizer({
  words = [],
  answers = [],
}: {
  readonly words?: readonly string[];
  readonly answers?: readonly string[];
}): Tokenizer {
  const ids = new Map<string, number>();
  const kinds: number[] = [];
  const merges = new Set<string>();
  const add = (token: string, kind: number): void => {
    if (ids.has(token)) return;
    ids.set(token, ids.size);
    kinds.push(kind);
  };

  for (const marker of MARKERS) add(marker, KIND.control);
  for (const letter of BYTE_LETTERS) add(letter, KIND.normal);
  for (const word of ['user', 'assistant', 'system', 'tool', ...words]) {
    let prefix = '';
    for (const letter of lettersOf(word)) {
      if (prefix !== '') merges.add(`${prefix} ${letter}`);
      prefix += letter;
      add(prefix, KIND.normal);
    }
  }
  for (const answer of answers) add(lettersOf(answer).join(''), KIND.normal);
  while (ids.size % STEP !== 0) add(`<|unused${ids.size}|>`, KIND.unused);

  const tokens = [...ids.keys()];
  const idOf = (text: string): number => {
    const id = ids.get(text) ?? ids.get(lettersOf(text).join(''));
    if (id === undefined) throw new Error(`"${text}" is not one token`);
    return id;
  };
  const metadata: Metadata = [
    ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
    ['tokenizer.ggml.pre', { type: 'string', value: 'gpt-2' }],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
    ['tokenizer.ggml.token_type', { type: 'i32s', value: kinds }],
    ['tokenizer.ggml.merges', { type: 'strings', value: [...merges] }],
    ['tokenizer.ggml.bos_token_id', { type: 'u32', value: idOf(END_OF_TEXT) }],
    ['tokenizer.ggml.eos_token_id', { type: 'u32', value: idOf(TURN_END) }],
    ['tokenizer.ggml.padding_token_id', { type: 'u32', value: idOf(END_OF_TEXT) }],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }],
    ['tokenizer.chat_template', { type: 'string', value: CHAT_TEMPLATE }],
  ];
  return { tokens, metadata, idOf };
}

export function isMarker(text: string): boolean {
  return MARKERS.includes(text);
}

function lettersOf(text: string): string[] {
  return Array.from(Buffer.from(text, 'utf8'), (byte) => BYTE_LETTERS[byte] ?? '');
}

/** The printable letter that stands for each byte: itself where it is printable, else one from U+0100 on, in order. */
const BYTE_LETTERS: readonly string[] = (() => {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCharCode(printable ? byte : next++);
  });
})();
