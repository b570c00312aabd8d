import { pathText, type Path, type Place } from './place.ts';

/** What is wrong, before it is known in which file it was written. */
export type Finding = {
  readonly path: Path;
  /** Continues a sentence that begins with the path: `is missing`, `must be at least 1`. */
  readonly message: string;
  /** What to change, as a sentence of its own. */
  readonly fix?: string | undefined;
};

/** One thing to tell the person who wrote the config. */
export type Problem = {
  /** The file it was written in; absent for what was missing everywhere or came from the command line. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** `models.alpha.port`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
  readonly fix?: string | undefined;
};

/** Something a config is made of: a file, an embedded default, the options of the command line. */
export type Source = {
  readonly name: string;
  readonly value: unknown;
  /** The paths it holds, and where in its text they were written when it is a text. */
  readonly places: ReadonlyMap<string, Place | undefined>;
};

/** Gives findings their places, in the order in which somebody would go through the files. */
export function located(findings: readonly Finding[], sources: readonly Source[]): Problem[] {
  const files = sources.map(({ name }) => name);
  const rank = ({ file }: Problem): number => (file === undefined ? files.length : files.indexOf(file));
  return findings
    .map((finding) => locate(finding, sources))
    .toSorted((a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

/** Gives a finding its place: where its path was written last, or else the nearest thing around it. */
function locate({ path, message, fix }: Finding, sources: readonly Source[]): Problem {
  const found = nearestPlace(path, sources);
  return { file: found?.file, ...found?.place, path: pathText(path), message, fix };
}

function nearestPlace(path: Path, sources: readonly Source[]): { file: string; place: Place | undefined } | undefined {
  for (let length = path.length; length >= 0; length--) {
    const text = pathText(path.slice(0, length));
    for (const source of sources.toReversed()) {
      if (source.places.has(text)) return { file: source.name, place: source.places.get(text) };
    }
  }
  return undefined;
}

/** Every problem of a config, a line each, and how many there are. */
export function complaint(problems: readonly Problem[]): string {
  const lines = problems.map((problem) => `${problemText(problem)}\n`);
  const many = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  return `${lines.join('')}catnap: the config has ${many}.\n`;
}

/** `config.json:12:5: models.alpha.prot is not a key here. Did you mean "port"?` */
export function problemText({ file, line, column, path, message, fix }: Problem): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  const sentence = [path, message].filter((part) => part !== '').join(' ');
  return `${place === '' ? '' : `${place}: `}${sentence}${fix === undefined ? '' : `. ${fix}`}`;
}
