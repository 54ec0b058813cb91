/** Results: their addresses, and all of them in one ZIP. */
import { at, Refusal, waitFor, waitOf } from '../api/client.ts';

export const outputOf = (id: string): string => at(`api/v1/jobs/${id}/output`);

export function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** @param told how many are packed @throws Refusal where one has expired meanwhile */
export async function saveAll(results: readonly { id: string; name: string }[], told: (packed: number) => void): Promise<void> {
  const { downloadZip } = await import('client-zip');
  const taken = new Set<string>();
  const unique = (name: string): string => {
    const [, stem = name, extension = ''] = /^(.*?)(\.[^.]*)?$/s.exec(name) ?? [];
    let free = name;
    for (let again = 2; taken.has(free.toLowerCase()); again++) free = `${stem}-${again}${extension}`;
    taken.add(free.toLowerCase());
    return free;
  };
  async function* files() {
    for (const [place, { id, name }] of results.entries()) {
      let response = await fetch(outputOf(id));
      for (let wait = waitOf(response, {}); wait !== undefined; wait = waitOf(response, {})) {
        await response.body?.cancel();
        await waitFor(wait.why, wait.ms);
        response = await fetch(outputOf(id));
      }
      if (!response.ok) throw new Refusal({ code: 'JOB_EXPIRED', message: `${response.status}` });
      yield { name: unique(name), input: response };
      told(place + 1);
    }
  }
  save(await downloadZip(files()).blob(), 'filemill.zip');
}
