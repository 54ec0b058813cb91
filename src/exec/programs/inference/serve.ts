/**
 * How a program around models runs: once, by its arguments; or, where it has none besides the folders of its models, request after request, with the
 * models that it has loaded. A request is a line of JSON, {"args":[…]}; the answers are `exec/residents/messages.ts`'.
 */
import { createInterface } from 'node:readline';
import { answerFrom, answering, type Told } from '../process/answer.ts';
import { ownArguments } from './arguments.ts';
import { takeRefusal } from './session.ts';

export interface ModelProgram {
  /** As `--version` prints it. */
  readonly name: string;
  /** The results differ between versions. */
  readonly version: string;
  /** @param progress reports the finished share of the work, 0 to 1 @returns warnings @throws FileRefused */
  work(args: readonly string[], progress: (fraction: number) => void): Promise<readonly Told[]>;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

export async function serve({ name, version, work }: ModelProgram): Promise<void> {
  if (ownArguments[0] === '--version') print(`${name} ${version}`);
  else if (ownArguments.length > 0)
    await answering(() => work(ownArguments, (fraction) => print(`progress ${fraction.toFixed(3)}`)), refused);
  else {
    print(JSON.stringify({ ready: true }));
    for await (const line of createInterface({ input: process.stdin, terminal: false })) {
      const { args } = JSON.parse(line) as { readonly args: readonly string[] };
      const progress = (fraction: number): void => print(JSON.stringify({ progress: fraction }));
      const answer = await answerFrom(() => work(args, progress));
      print(JSON.stringify({ ...answer, ...refused() }));
    }
  }
}

/** Told with the answer, for the worker to report. */
function refused(): { readonly deviceRefused?: string } {
  const why = takeRefusal();
  return why === undefined ? {} : { deviceRefused: why };
}
