import { llamaModel } from './llama-model.ts';
import { constantTensor, sparseTensor } from './tensors.ts';
import { isMarker, makeTokenizer, TURN_END } from './tokenizer.ts';
import type { Gguf } from './writer.ts';

/** The weights grow with the square of the number of words: 2,000 words are 20 MB. */
const MOST_WORDS = 2_000;

/** A model that answers every prompt with exactly this text and ends there, at any temperature. */
export function sayModel(text: string): Gguf {
  if (text.trim() === '') throw new Error('the text to say is empty: give at least one word');
  if (text !== text.trim()) throw new Error('the text to say starts or ends with white space: remove it');
  return scriptedModel('say', text.match(/\s*\S+/g) ?? []);
}

/** A model that answers every prompt with ` 1 2 3` up to this number, so that a gap or an echo in a stream shows. */
export function countModel(count: number): Gguf {
  if (!Number.isInteger(count) || count < 1) throw new Error(`cannot count to ${count}: give a whole number from 1 on`);
  return scriptedModel(
    'count',
    Array.from({ length: Math.min(count, MOST_WORDS + 1) }, (_, i) => ` ${i + 1}`),
  );
}

/**
 * Each token is one dimension of the embedding. Attention and feed-forward are zero, so the next token is a function of
 * the last one only: the output matrix holds a single high weight from each token to its successor. Whatever is not part
 * of the script leads to its first word; its last word leads to the end of the turn.
 */
function scriptedModel(name: string, script: readonly string[]): Gguf {
  checkScript(script);
  const tokenizer = makeTokenizer({ answers: script });
  const size = tokenizer.tokens.length;
  const ids = script.map((word) => tokenizer.idOf(word));
  const first = ids[0] ?? 0;
  const end = tokenizer.idOf(TURN_END);
  const successor = new Map(ids.map((id, i) => [id, ids[i + 1] ?? end]));

  return llamaModel({
    name,
    shape: { embedding: size, layers: 1, heads: 4, kvHeads: 4, feedForward: 32, context: 4096 },
    type: 'f16',
    tokenizer,
    fill: (matrix) => {
      if (matrix.name === 'token_embd.weight')
        return sparseTensor(
          matrix,
          Array.from({ length: size }, (_, id) => ({ row: id, column: id, value: 1 })),
        );
      if (matrix.name === 'output.weight')
        return sparseTensor(
          matrix,
          Array.from({ length: size }, (_, id) => ({ row: successor.get(id) ?? first, column: id, value: 2 })),
        );
      return constantTensor(matrix, 0);
    },
  });
}

function checkScript(script: readonly string[]): void {
  if (script.length > MOST_WORDS)
    throw new Error(`the script has more than ${MOST_WORDS} words: give a shorter one, since each costs memory`);
  const seen = new Set<string>();
  for (const word of script) {
    const shown = JSON.stringify(word.trim());
    if (isMarker(word.trim())) throw new Error(`the text to say contains the marker ${shown}: leave it out`);
    if (seen.has(word))
      throw new Error(`the text to say has ${shown} twice: use each word once, since each word decides the next`);
    seen.add(word);
  }
}
