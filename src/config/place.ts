/** Where in the config something is: `['models', 'alpha', 'port']`. */
export type Path = readonly (string | number)[];

/** Where in a text something is; both counted from 1. */
export type Place = { readonly line: number; readonly column: number };

const PLAIN = /^[A-Za-z_$][\w$-]*$/;

/** `models.alpha.port`, `models["qwen/qwen3-8b"].aliases[0]`. */
export function pathText(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (!PLAIN.test(step)) text += `[${JSON.stringify(step)}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** Turns offsets of a text into places. */
export function placesIn(text: string): (offset: number) => Place {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
