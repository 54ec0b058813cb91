/** What a test does to the store itself, over etcd's JSON gateway. */

async function ask<T>(url: string, path: string, body: object): Promise<T> {
  const response = await fetch(`${url}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd refused ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Forgets every version but the present one, which a write that Kubernetes knows nothing of has made newer than any that a client has seen. */
export async function compact(url: string): Promise<void> {
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const { header } = await ask<{ header: { revision: string } }>(url, 'kv/put', { key: encode('/filemill/mark'), value: encode('x') });
  await ask(url, 'kv/compaction', { revision: header.revision, physical: true });
}
