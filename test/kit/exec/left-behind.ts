/** What a service has left behind: files below its data folder, and processes that belong to it. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Paths of all files below `folder`, relative to it. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
}

/** Command lines of processes that work in `folder` or name it: the launcher does, and a converter stands in it (proc(5)). */
export async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ');
      const place = await readlink(`/proc/${pid}/cwd`).catch(() => '');
      return command.includes(folder) || place.startsWith(folder) ? [`${pid} ${command.slice(0, 200)}`] : [];
    }),
  );
  return found.flat();
}
