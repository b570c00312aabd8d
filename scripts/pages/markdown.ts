/** The few shapes of Markdown that the generated pages are made of. */

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ');

export const code = (text: string): string => `\`${text}\``;

/** A page: parts with an empty line between them, and a last line that ends. */
export const page = (...parts: readonly string[]): string => `${parts.join('\n\n')}\n`;
