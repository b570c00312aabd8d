import type { Outcome, Stretch } from './tally.ts';

const WIDTH = 1_200;
const LEFT = 150;
const ROW = 18;
const GAP = 34;
const COLOURS: Readonly<Record<Stretch['phase'], string>> = { coming: '#e8a33d', awake: '#3c8d5a', going: '#b9b9b9' };

/** Who was awake when, one block of rows for each policy, as an SVG picture. */
export function timeline(outcomes: ReadonlyMap<string, Outcome>): string {
  const spanMs = Math.max(1, ...[...outcomes.values()].map(({ spanMs }) => spanMs));
  const scale = (WIDTH - LEFT - 10) / spanMs;
  let y = 30;
  const parts: string[] = [];
  for (const [policy, { timeline, byModel, waits, swaps }] of outcomes) {
    const said = `${policy}: ${swaps} swaps, mean wait ${secs(waits.meanMs)} s, 99th percentile ${secs(waits.p99Ms)} s`;
    parts.push(`<text x="10" y="${y}" font-weight="bold">${escaped(said)}</text>`);
    y += 8;
    for (const model of byModel.keys()) {
      parts.push(`<text x="20" y="${y + 12}">${escaped(model)}</text>`);
      for (const stretch of timeline) {
        if (stretch.model !== model) continue;
        const x = (LEFT + stretch.fromMs * scale).toFixed(1);
        const width = Math.max(0.3, (stretch.toMs - stretch.fromMs) * scale).toFixed(1);
        parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${ROW - 5}" fill="${COLOURS[stretch.phase]}"/>`);
      }
      y += ROW;
    }
    y += GAP;
  }
  const legend = `<text x="${LEFT}" y="14">green: awake, orange: coming, grey: going; ${secs(spanMs)} s in all</text>`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" font-family="sans-serif" font-size="12">` +
    `<rect width="100%" height="100%" fill="white"/>${legend}${parts.join('')}</svg>\n`
  );
}

const secs = (ms: number): string => (ms / 1_000).toFixed(1);

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
