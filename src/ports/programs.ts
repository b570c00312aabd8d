/** A program file, and a mark that is another one as soon as the file is. */
export type Program = { readonly path: string; readonly mark: string };

export interface Programs {
  /** The file a command would run, looked up as for engines; undefined when there is none that may be executed. */
  find(command: string): Promise<Program | undefined>;
}
