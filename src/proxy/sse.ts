const COLON = 0x3a;
export const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Comments keep a connection open and say nothing about work, so only a chunk with more in it is news of the engine. */
export function isOnlyComments(chunk: Uint8Array): boolean {
  let atLineStart = true;
  for (const byte of chunk) {
    if (atLineStart && byte !== COLON && byte !== NEWLINE && byte !== RETURN) return false;
    atLineStart = byte === NEWLINE || byte === RETURN;
  }
  return true;
}

/** One line that clients pass over, whatever is in the text. */
export const commentOf = (text: string): string => `${lineOf(text)}\n`;

/** The same where the lines of an event may stand before and after it: an empty line would end the event. */
export const lineOf = (text: string): string => `: ${text.replace(/\s+/g, ' ')}\n`;

/** What must be written before an event so that it stands alone, whatever half of one came before. */
export function separator(lastByte: number | undefined): string {
  if (lastByte === undefined) return '';
  return lastByte === NEWLINE ? '\n' : '\n\n';
}
