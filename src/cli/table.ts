import { styleText } from 'node:util';

export type Cell = { readonly text: string; readonly style?: 'bold' | 'green' | 'yellow' | 'red' | 'dim' };

/** Rows in aligned columns, two spaces apart, without blanks at the ends of lines. */
export function table(rows: readonly (readonly Cell[])[], colour: boolean): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach(({ text }, column) => {
      widths[column] = Math.max(widths[column] ?? 0, text.length);
    });
  }
  const line = (row: readonly Cell[]): string => {
    const last = row.length - 1;
    return row
      .map((cell, column) => {
        const gap = column === last ? '' : ' '.repeat((widths[column] ?? 0) - cell.text.length + 2);
        return painted(cell, colour) + gap;
      })
      .join('');
  };
  return rows.map((row) => `${line(row)}\n`).join('');
}

/** The text of a cell, coloured where that is wanted. */
export function painted({ text, style }: Cell, colour: boolean): string {
  return colour && style !== undefined ? styleText(style, text, { validateStream: false }) : text;
}
