type Labels = Readonly<Record<string, string>>;
type Sample = { readonly name: string; readonly labels: Labels; readonly value: number };

/** What Prometheus would have read, to be asked for single values. */
export class Metrics {
  readonly #samples: readonly Sample[];

  constructor(text: string) {
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    this.#samples = lines.map(sample);
  }

  /** The sum of all samples of this name that have these labels; undefined when there is none. */
  value(name: string, labels: Labels = {}): number | undefined {
    const found = this.#samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }
}

function sample(line: string): Sample {
  const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}
