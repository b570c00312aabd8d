import { Line } from './line.ts';
import { Play } from './play.ts';

const CURTAIN = '----';

/**
 * Plays a scenario and gives its text with what really happened. The text is blocks of lines; below `----` stands what they led to, up to an
 * empty line. Set-up lines and comments (`#`) stand alone.
 */
export function perform(text: string): string {
  const play = new Play();
  const played: string[] = [];
  let pending = 0;
  let inOutcome = false;
  for (const [at, line] of text.split('\n').entries()) {
    if (inOutcome && line !== '') continue;
    inOutcome = false;
    played.push(line);
    if (line === '' || line.startsWith('#')) continue;
    if (line === CURTAIN) {
      played.push(...play.takeSaid());
      inOutcome = true;
      pending = 0;
      continue;
    }
    try {
      const parsed = new Line(line);
      play.run(parsed);
      if (parsed.verb !== 'stage' && parsed.verb !== 'model') pending++;
    } catch (error) {
      throw new Error(`line ${at + 1}: ${line}`, { cause: error });
    }
  }
  if (pending > 0) throw new Error(`the last lines have no ${CURTAIN} below them`);
  return played.join('\n');
}
