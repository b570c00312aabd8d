/** One instruction of a Dockerfile, its line breaks joined. */
type Instruction = { readonly line: number; readonly name: string; readonly rest: string };

export type Step =
  | { readonly kind: 'workdir'; readonly path: string }
  | { readonly kind: 'env'; readonly name: string; readonly value: string }
  | {
      readonly kind: 'copy';
      readonly from: string | undefined;
      readonly sources: readonly string[];
      readonly to: string;
    }
  | { readonly kind: 'run'; readonly command: string };

export type Stage = { readonly name: string; readonly image: string; readonly steps: readonly Step[] };

export type Dockerfile = {
  readonly stages: readonly Stage[];
  /** How the last stage is started, and how its health is asked for. */
  readonly command: readonly string[];
  readonly health: readonly string[];
};

/** What has no meaning outside of a container. */
const IGNORED = ['EXPOSE', 'USER'];

/** Reads the part of the Dockerfile language that our images use; anything else is an error that says so. */
export function readDockerfile(text: string): Dockerfile {
  const stages: { name: string; image: string; steps: Step[] }[] = [];
  let [entrypoint, arguments_, health]: (readonly string[])[] = [[], [], []];
  for (const { line, name, rest } of instructions(text)) {
    const stage = stages.at(-1);
    if (name === 'FROM') {
      const [, image = '', as] = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(rest) ?? [];
      stages.push({ name: as ?? 'image', image, steps: [] });
    } else if (stage === undefined) throw new Error(`line ${line}: ${name} comes before FROM`);
    else if (name === 'ENTRYPOINT') entrypoint = execForm(rest, line);
    else if (name === 'CMD') arguments_ = execForm(rest, line);
    else if (name === 'HEALTHCHECK') health = execForm(rest.replace(/^.*?\bCMD\s+/, ''), line);
    else if (!IGNORED.includes(name)) stage.steps.push(step(name, rest, line));
  }
  return { stages, command: [...(entrypoint ?? []), ...(arguments_ ?? [])], health: health ?? [] };
}

function instructions(text: string): Instruction[] {
  const found: Instruction[] = [];
  let [begun, line] = ['', 0];
  for (const [index, raw] of text.split('\n').entries()) {
    if (/^\s*(#|$)/.test(raw)) continue;
    if (begun === '') line = index + 1;
    begun += raw.replace(/\\\s*$/, ' ');
    if (/\\\s*$/.test(raw)) continue;
    const [, name = '', rest = ''] = /^\s*(\S+)\s*(.*)$/.exec(begun) ?? [];
    found.push({ line, name: name.toUpperCase(), rest: rest.trim() });
    begun = '';
  }
  return found;
}

function step(name: string, rest: string, line: number): Step {
  if (name === 'WORKDIR') return { kind: 'workdir', path: rest };
  if (name === 'RUN') return { kind: 'run', command: rest };
  if (name === 'ENV') {
    const [, variable = '', value = ''] = /^(\w+)=(\S*)$/.exec(rest) ?? [];
    if (variable !== '') return { kind: 'env', name: variable, value };
  }
  if (name === 'COPY') {
    const [, from] = /^--from=(\S+)\s/.exec(rest) ?? [];
    const paths = rest.replace(/^--from=\S+\s+/, '').split(/\s+/);
    const to = paths.pop();
    if (to !== undefined && paths.length > 0 && !rest.replace(/^--from=/, '').includes('--')) {
      return { kind: 'copy', from, sources: paths, to };
    }
  }
  throw new Error(`line ${line}: cannot try '${name} ${rest}'; teach scripts/docker/dockerfile.ts about it`);
}

function execForm(rest: string, line: number): readonly string[] {
  const parsed: unknown = rest.startsWith('[') ? JSON.parse(rest) : undefined;
  if (Array.isArray(parsed) && parsed.every((part) => typeof part === 'string')) return parsed;
  throw new Error(
    `line ${line}: write it as a list, ["node", ...]: the shell form puts a shell between the signal and us`,
  );
}
