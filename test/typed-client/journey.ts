/** A client in types that were generated from the document: what compiles here is what the document promises. Prints what it saw. */
import { openAsBlob } from 'node:fs';
import createClient from 'openapi-fetch';
import type { components, paths } from '../../.cache/typed-client/api.ts';

const [, , baseUrl = '', picture = ''] = process.argv;
const api = createClient<paths>({ baseUrl });

type Job = components['schemas']['Job'];

/** Forms carry texts and files: lists as one part each. */
function formOf(fields: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields) as [string, unknown][])
    for (const each of Array.isArray(value) ? value : [value]) form.append(name, each instanceof Blob ? each : String(each));
  return form;
}

/** The document speaks of a file as text, for want of a better word; a form takes the file itself. */
const file = (await openAsBlob(picture)) as Blob & string;

async function ended(job: Job): Promise<Job> {
  let latest = job;
  while (latest.status === 'processing') {
    const { data, response } = await api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: job.job_id } } });
    if (data === undefined) throw new Error(`the job ended with ${response.status}`);
    latest = data.data;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return latest;
}

const converted = await api.POST('/api/v1/convert', {
  params: { header: { Prefer: 'respond-async' } },
  body: { file, to_format: 'webp', img_resize_w: 32, img_quality: 70 },
  bodySerializer: formOf,
});
if (converted.data === undefined) throw new Error(converted.error.error.message);
const job = await ended(converted.data.data);
const output = await api.GET('/api/v1/jobs/{job_id}/output', { params: { path: { job_id: job.job_id } }, parseAs: 'arrayBuffer' });

const refused = await api.POST('/api/v1/convert', {
  // @ts-expect-error: the document says that a target is needed
  body: { file },
  bodySerializer: formOf,
});
// @ts-expect-error: there is no such address
await api.GET('/api/v1/nowhere');
// @ts-expect-error: a width is a number
await api.POST('/api/v1/tools/resize-image', { body: { file, img_resize_w: 'wide' }, bodySerializer: formOf });

const batch = await api.POST('/api/v1/batch', { body: { 'files[]': [file, file], to_format: 'gif' }, bodySerializer: formOf });
const resized = await api.POST('/api/v1/tools/resize-image', { body: { file, img_resize_w: 20 }, bodySerializer: formOf });
const tools = await api.GET('/api/v1/tools');
const formats = await api.GET('/api/v1/formats', { params: { query: { from: 'png' } } });
const limits = await api.GET('/api/v1/limits');

console.log(
  JSON.stringify({
    status: job.status,
    bytes: output.data instanceof ArrayBuffer ? output.data.byteLength : 0,
    size: job.output?.size_bytes,
    refusal: refused.error?.error.code,
    files: batch.data?.data.jobs.map(({ filename }) => filename.length > 0),
    resized: resized.data?.data.output?.content_type,
    tools: tools.data?.data.tools.filter(({ available }) => available).map(({ slug }) => slug),
    targets: formats.data?.data.sources.flatMap(({ targets }) => targets.map(({ format }) => format)),
    daily: limits.data?.data.tiers.daily.limit,
  }),
);
