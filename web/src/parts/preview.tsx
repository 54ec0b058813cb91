/** Shows a result where a browser can, and never as a page: HTML is text here, SVG a picture, and neither runs anything. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../words/words.ts';
import type { Job } from '../work/follow.ts';
import { outputOf } from '../work/result.ts';

/** Size of a text, bytes. */
const MOST_TEXT = 64 * 1024;
/** Size of a PDF, which a browser's viewer gets as a whole, bytes. */
const MOST_PDF = 64 << 20;
const PICTURES = /^image\/(png|jpeg|webp|gif|avif|bmp|svg\+xml|x-icon|vnd\.microsoft\.icon)$/;
const TEXTS = /^text\/|^application\/(json|xml|x-tex|x-ipynb\+json)|\+xml$|^message\//;

export type Kind = 'image' | 'audio' | 'video' | 'pdf' | 'text';
export function kindOf({ text, output }: Job): Kind | undefined {
  if (text !== undefined) return 'text';
  const type = output?.content_type.split(';')[0]?.trim() ?? '';
  if (PICTURES.test(type)) return 'image';
  if (type === 'application/pdf') return (output?.size_bytes ?? 0) <= MOST_PDF ? 'pdf' : undefined;
  const [family] = type.split('/');
  if (family === 'audio' || family === 'video') return family;
  return TEXTS.test(type) ? 'text' : undefined;
}

/** An address for a file of this browser, for as long as it is shown. */
function useObjectUrl(file: Blob | undefined): string | undefined {
  const url = useSignal<string | undefined>(undefined);
  useEffect(() => {
    if (file === undefined) return undefined;
    const made = URL.createObjectURL(file);
    url.value = made;
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url.value;
}

/** The picture before and after, one over the other. */
function Compared({ before, after, name }: { before: string; after: string; name: string }) {
  const frame = useRef<HTMLDivElement>(null);
  return (
    <div class="compared">
      <div class="frame" ref={frame}>
        <img src={after} alt={`${name}: ${t('after')}`} />
        <img class="over" src={before} alt={`${name}: ${t('before')}`} onError={(event) => event.currentTarget.remove()} />
      </div>
      {/* The picture has no direction of reading: before is on its left. */}
      <label dir="ltr">
        <span>{t('before')}</span>
        <input
          type="range"
          min="0"
          max="100"
          defaultValue="50"
          aria-label={t('compare')}
          onInput={(event) => frame.current?.style.setProperty('--shown', `${event.currentTarget.value}%`)}
        />
        <span>{t('after')}</span>
      </label>
    </div>
  );
}

function Text({ job }: { job: Job }) {
  const text = useSignal(job.text ?? '');
  const cut = useSignal(false);
  useEffect(() => {
    if (job.text !== undefined) return undefined;
    const cancel = new AbortController();
    const read = async () => {
      const response = await fetch(outputOf(job.job_id), { headers: { range: `bytes=0-${MOST_TEXT - 1}` }, signal: cancel.signal });
      text.value = await response.text();
      cut.value = (job.output?.size_bytes ?? 0) > MOST_TEXT;
    };
    read().catch(() => {});
    return () => cancel.abort();
  }, [job.job_id]);
  return (
    <>
      <pre tabIndex={0} dir="auto">
        {text.value}
      </pre>
      {cut.value && <p class="quiet">{t('cut')}</p>}
    </>
  );
}

function Pdf({ job }: { job: Job }) {
  const blob = useSignal<Blob | undefined>(undefined);
  useEffect(() => {
    const cancel = new AbortController();
    const read = async () => {
      const response = await fetch(outputOf(job.job_id), { signal: cancel.signal });
      // Whatever the file is, the viewer takes it for a PDF.
      if (response.ok) blob.value = new Blob([await response.arrayBuffer()], { type: 'application/pdf' });
    };
    read().catch(() => {});
    return () => cancel.abort();
  }, [job.job_id]);
  const url = useObjectUrl(blob.value);
  return url === undefined ? null : <iframe src={url} title={job.output?.filename ?? 'PDF'} />;
}

export function Preview({ job, before }: { job: Job; before?: File | undefined }) {
  const kind = kindOf(job);
  const name = job.output?.filename ?? '';
  const source = useObjectUrl(kind === 'image' && before !== undefined && PICTURES.test(before.type) ? before : undefined);
  const after = outputOf(job.job_id);
  return (
    <div class={`preview ${kind}`}>
      {kind === 'image' && (source === undefined ? <img src={after} alt={name} /> : <Compared before={source} after={after} name={name} />)}
      {/* biome-ignore lint/a11y/useMediaCaption: the file is the visitor's own */}
      {kind === 'audio' && <audio controls src={after} aria-label={name} />}
      {/* biome-ignore lint/a11y/useMediaCaption: the file is the visitor's own */}
      {kind === 'video' && <video controls src={after} aria-label={name} />}
      {kind === 'pdf' && <Pdf job={job} />}
      {kind === 'text' && <Text job={job} />}
    </div>
  );
}
