/** How much lies in a folder that a confined program fills. */
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** Whether the folder holds more than `bytes`. One in which something cannot even be looked at was made so on purpose. */
export async function isFuller(folder: string, bytes: number): Promise<boolean> {
  let sum = 0;
  const left = [folder];
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    try {
      for await (const entry of await opendir(place)) {
        const path = join(place, entry.name);
        if (entry.isDirectory()) left.push(path);
        const { blocks } = await lstat(path);
        sum += Math.max(4096, blocks * 512);
        if (sum > bytes) return true;
      }
    } catch (error) {
      // Files come and go under our hands.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return true;
    }
  }
  return false;
}
