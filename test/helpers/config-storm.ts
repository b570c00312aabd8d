import { setTimeout as pause } from 'node:timers/promises';
import { ErrorAnswer, Reloaded } from '../../src/api/admin/contract.ts';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import type { Random } from '../../src/simulate/random.ts';
import { writeConfig, type Catnap } from './catnap.ts';
import type { Crowd } from './crowd.ts';

type Answer = readonly [status: number, code: string | undefined];

/** Configs like the first one, each time with other models and other settings of them; and some that cannot be used. */
type Variation = { readonly config: ConfigInput; readonly may: Answer };

/** Those of `keep` are always there, and as they are. */
function vary(config: ConfigInput, keep: readonly string[], random: Random): Variation {
  const models = Object.fromEntries(
    Object.entries(config.models).flatMap(([name, model]): [string, ModelInput][] => {
      if (keep.includes(name)) return [[name, model]];
      if (random.chance(0.25)) return [];
      return [[name, random.chance(0.5) ? model : changed(model, random)]];
    }),
  );
  const good = { ...config, models };
  switch (random.int(0, 9)) {
    case 0:
      return {
        config: { ...good, models: { ...models, x: { backend: 'none' } as never } },
        may: [400, 'invalid_config'],
      };
    case 1:
      return { config: { ...good, models: {} }, may: [400, 'invalid_config'] };
    case 2:
      return { config: { ...good, host: '127.0.0.2' }, may: [409, 'needs_restart'] };
    default:
      return { config: good, may: [200, undefined] };
  }
}

const changed = (model: ModelInput, random: Random): ModelInput => {
  if (model.backend === 'command') return { ...model, env: { ROUND: String(random.int(0, 9)) } };
  const settings = { target_inflight: random.int(1, 9), enabled: random.chance(0.8) };
  return model.backend === 'stub' ? { ...model, start_ms: random.int(1, 30), ...settings } : { ...model, ...settings };
};

/** Writes one config after the other and has it read, by the API or by a signal. Ends with the first one, as it was. */
export async function editor(
  crowd: Crowd,
  catnap: Catnap,
  { config, keep, folder }: { config: ConfigInput; keep: readonly string[]; folder: string },
  random: Random,
): Promise<number> {
  while (crowd.goesOn) {
    const { config: next, may } = vary(config, keep, random);
    writeConfig(folder, next);
    if (random.chance(0.2)) catnap.signal('SIGHUP');
    else await reload(crowd, catnap, random.chance(0.3) ? '?now=true' : '', may);
    crowd.did('reload');
    await pause(random.int(0, 40));
  }
  writeConfig(folder, config);
  await reload(crowd, catnap, '', [200, undefined]);
  return crowd.times('reload');
}

async function reload(crowd: Crowd, catnap: Catnap, query: string, [status, code]: Answer): Promise<void> {
  const reply = await crowd.bounded('a reload', catnap.ask(`/v1/admin/reload${query}`));
  if (reply === undefined) return;
  const told: unknown = JSON.parse(reply.text);
  const fits =
    status === 200 ? Reloaded.safeParse(told).success : ErrorAnswer.safeParse(told).data?.error.code === code;
  if (reply.status !== status || !fits)
    crowd.wrong.push(`a reload: ${reply.status} ${reply.text} in place of ${status} ${code}`);
}
