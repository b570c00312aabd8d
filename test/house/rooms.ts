/** What a room may import from outside itself. A name is a room, or one file or folder of a room. */
export type Room = {
  /** Anything, values and types. */
  readonly values: readonly string[];
  /** Types only, by `import type`. */
  readonly types: readonly string[];
  /** npm packages and Node's own modules; `npm` and `node` stand for all of them. */
  readonly packages: readonly string[];
};

/** Who may import whom: rooms import downwards only. Tests and scripts are no rooms and may import anything. */
export const ROOMS: Readonly<Record<string, Room>> = {
  core: { values: [], types: [], packages: [] },
  ports: { values: [], types: ['core'], packages: [] },
  config: { values: ['core'], types: [], packages: ['zod', 'yaml', 'jsonc-parser', 'node:fs', 'node:path'] },
  engines: { values: ['core', 'ports'], types: ['config'], packages: ['p-queue'] },
  sleep: {
    values: ['core', 'ports', 'engines/driver', 'engines/wait'],
    types: ['config', 'engines/sleeper'],
    packages: [],
  },
  doctor: { values: ['core', 'ports'], types: [], packages: [] },
  validate: {
    values: ['core', 'ports', 'engines/driver', 'engines/wait', 'sleep/memory', 'sleep/traits'],
    types: [],
    packages: [],
  },
  runtime: { values: ['core', 'ports', 'engines/driver'], types: [], packages: ['p-queue'] },
  adapters: { values: ['core', 'ports'], types: [], packages: ['npm', 'node'] },
  access: {
    values: ['core', 'ports', 'config/access', 'config/key-hash', 'config/wildcard'],
    types: ['config'],
    packages: ['p-queue', 'node'],
  },
  proxy: {
    values: ['core', 'ports', 'access', 'runtime/admission', 'runtime/view'],
    types: ['engines/driver', 'config'],
    packages: ['npm', 'node'],
  },
  api: {
    values: ['core', 'ports', 'access'],
    types: ['runtime', 'config'],
    packages: ['hono', '@hono/node-server', 'zod', 'node'],
  },
  observe: { values: ['core', 'ports'], types: [], packages: ['npm', 'node'] },
  quickstart: { values: ['core', 'ports'], types: ['config'], packages: ['node'] },
  simulate: { values: ['core'], types: [], packages: [] },
  cli: {
    values: ['app', 'config', 'access', 'api/admin/contract', 'api/control/contract', 'simulate', 'validate/levels'],
    types: ['core'],
    packages: ['npm', 'node'],
  },
  app: {
    values: [
      'core',
      'ports',
      'config',
      'engines',
      'sleep',
      'validate',
      'doctor',
      'runtime',
      'adapters',
      'access',
      'proxy',
      'api',
      'observe',
      'quickstart',
      'simulate',
    ],
    types: [],
    packages: ['npm', 'node'],
  },
};
