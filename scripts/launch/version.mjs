/** @typedef {readonly [number, number, number]} Version */

/**
 * Reads `v24.11.0` or `24.11.0`; a nightly counts as the release it leads to.
 * @param {string} text
 * @returns {Version | undefined}
 */
function parseVersion(text) {
  const [, major, minor, patch] = /^v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(text.trim()) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

/**
 * Whether a version is in a range written with `^`, `>=` and `||`, which is all that `engines` in package.json uses.
 * @param {string} version
 * @param {string} range
 */
export function satisfies(version, range) {
  const have = parseVersion(version);
  return have !== undefined && range.split('||').some((part) => meets(have, part.trim()));
}

/**
 * @param {Version} have
 * @param {string} part
 */
function meets(have, part) {
  const [, sign, text] = /^(\^|>=)\s*(\S+)$/.exec(part) ?? [];
  const least = parseVersion(text ?? '');
  if (least === undefined) throw new Error(`engines.node: cannot read '${part}'; write ^a.b.c or >=a.b.c`);
  return atLeast(have, least) && (sign === '>=' || have[0] === least[0]);
}

/**
 * @param {Version} have
 * @param {Version} least
 */
function atLeast(have, least) {
  const differs = have.findIndex((part, at) => part !== least[at]);
  return differs === -1 || Number(have[differs]) > Number(least[differs]);
}
