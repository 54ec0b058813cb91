/**
 * Runs a script of FontForge's own language on one font, with temporary files in the job's folder.
 *
 *   fontforge.ts --tmpfile=PATH SCRIPT INPUT OUTPUT
 *
 * PATH is that of `native/own-tmpfile`. OUTPUT is the script's second argument; where it is a whole name, the script has failed if nothing is there,
 * since FontForge leaves an empty file and ends well. Exits with FontForge's status.
 */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

const [option = '', script = '', input = '', output = ''] = process.argv.slice(2);
const env = { ...process.env, LD_PRELOAD: option.slice(option.indexOf('=') + 1) };
// Standard streams are files or the launcher's: Node's pipes are sockets, which confined programs may not open.
const { status, signal, error } = spawnSync('/usr/bin/fontforge', ['-lang=ff', '-c', script, input, output], {
  stdio: ['ignore', 'inherit', 'inherit'],
  env,
});
if (error !== undefined) throw error;
if (signal !== null) {
  process.stderr.write(`fontforge.ts: FontForge was ended by ${signal}\n`);
  process.exitCode = 1;
} else process.exitCode = status === 0 && !output.endsWith('.') && isEmpty(output) ? 1 : (status ?? 1);

function isEmpty(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined || (found.isFile() && found.size === 0);
}
