/** Why something of the outside world cannot be had. Its message is one line for people; it is told, never a crash. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}
