import { fieldsOf, textsOf, type Fields, type Notes } from './notes.ts';

type Group = {
  readonly name: string;
  readonly swap: boolean;
  readonly exclusive: boolean;
  readonly persistent: boolean;
  readonly members: readonly string[];
};

/** What the groups of a llama-swap file become: stages, and keys of the models on them. */
export type Grouped = {
  readonly stages: Readonly<Record<string, { readonly slots: number }>> | undefined;
  readonly models: ReadonlyMap<string, Fields>;
};

const MAIN = 'main';

/**
 * `persistent` models that run together are `keep`. A group that leaves the others alone has a stage of its own, with as many slots as may be awake
 * at a time. All the rest put each other away, so they share one stage; a group of them that runs together has its slots, and whoever is not in
 * it is `exclusive`.
 */
export function grouped(written: Fields, models: readonly string[], notes: Notes): Grouped {
  const groups = Object.entries(written).map(([name, value]) => groupOf(name, fieldsOf(value), models, notes));
  const keys = new Map<string, Fields>();
  const stages: Record<string, { readonly slots: number }> = {};
  const together: Group[] = [];
  for (const group of groups) {
    const at = `groups.${group.name}`;
    if (group.persistent && !group.swap) {
      for (const member of group.members) keys.set(member, { keep: true });
    } else if (group.persistent || !group.exclusive) {
      const stage = stageName(group.name, stages);
      stages[stage] = { slots: group.swap ? 1 : Math.max(1, group.members.length) };
      for (const member of group.members) keys.set(member, { stage });
      if (!group.persistent)
        notes.add(
          at,
          `is the stage ${stage}: what is loaded elsewhere does not put its models away, as it does in llama-swap`,
        );
    } else if (!group.swap && group.members.length > 1) together.push(group);
    if (group.persistent && group.exclusive && groups.length > 1)
      notes.add(`${at}.exclusive`, 'is not carried over: its models put no others away');
  }
  const [most, ...others] = together.toSorted((a, b) => b.members.length - a.members.length);
  for (const group of others)
    notes.add(
      `groups.${group.name}.swap`,
      `is not carried over: its models are awake one at a time, since ${most?.name} has the slots`,
    );
  const onMain = models.filter((model) => !keys.has(model));
  if (Object.keys(stages).length > 0 && onMain.length > 0) {
    for (const model of models) {
      const own = keys.get(model) ?? {};
      if (!('stage' in own)) keys.set(model, { stage: MAIN, ...own });
    }
  }
  if (most !== undefined)
    for (const model of onMain)
      if (!most.members.includes(model)) keys.set(model, { ...keys.get(model), exclusive: true });
  const slots = most?.members.length ?? 1;
  if (slots === 1 && Object.keys(stages).length === 0) return { stages: undefined, models: keys };
  return { stages: onMain.length === 0 ? stages : { [MAIN]: { slots }, ...stages }, models: keys };
}

function groupOf(name: string, group: Fields, models: readonly string[], notes: Notes): Group {
  const { swap = true, exclusive = true, persistent = false } = group;
  notes.unknown(`groups.${name}.`, group, ['swap', 'exclusive', 'persistent', 'members']);
  const members = textsOf(group['members']);
  for (const member of members)
    if (!models.includes(member)) notes.add(`groups.${name}.members`, `names ${member}, which is no model here`);
  const known = members.filter((member) => models.includes(member));
  return { name, swap: swap === true, exclusive: exclusive === true, persistent: persistent === true, members: known };
}

function stageName(group: string, taken: Fields): string {
  const clean =
    group
      .replaceAll(/[^A-Za-z0-9_.-]+/g, '-')
      .replace(/^[^A-Za-z0-9_]+/, '')
      .slice(0, 60) || 'group';
  for (let n = 1; ; n++) {
    const name = n === 1 ? clean : `${clean}-${n}`;
    if (name !== MAIN && !Object.hasOwn(taken, name)) return name;
  }
}
