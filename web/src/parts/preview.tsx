/** Shows a result where a browser can, and never as a page: HTML is text here, SVG a picture, and neither runs anything. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { t } from '../words/words.ts';
import type { Job } from '../work/follow.ts';
import { outputOf } from '../work/result.ts';
import { ComparedFrames, ComparedPages, ComparedPictures } from './compare.tsx';
import { isPdf } from './pages.tsx';

/** Size of a text, bytes. */
const MOST_TEXT = 64 * 1024;
/** Size of a PDF, which a browser's viewer gets as a whole, bytes. */
const MOST_PDF = 64 << 20;
const PICTURES = /^image\/(png|jpeg|webp|gif|avif|bmp|svg\+xml|x-icon|vnd\.microsoft\.icon)$/;
const TEXTS = /^text\/|^application\/(json|xml|x-tex|x-ipynb\+json)|\+xml$|^message\//;

export type Kind = 'image' | 'audio' | 'video' | 'pdf' | 'text';
export function previewKindOf({ text, output }: Job): Kind | undefined {
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

function Pdf({ job, before }: { job: Job; before: File | undefined }) {
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
  const whole = url === undefined ? null : <iframe src={url} title={job.output?.filename ?? 'PDF'} />;
  if (before === undefined || !isPdf(before)) return whole;
  return (
    <Switched label={t('comparePages')} whole={whole}>
      <ComparedPages before={before} after={blob.value} />
    </Switched>
  );
}

/** The result alone, or beside its source. */
function Switched({ label, whole, children }: { label: string; whole: ComponentChildren; children: ComponentChildren }) {
  const isCompared = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="button"
        aria-pressed={isCompared.value}
        onClick={() => {
          isCompared.value = !isCompared.value;
        }}
      >
        {label}
      </button>
      {isCompared.value ? children : whole}
    </>
  );
}

function Film({ job, before, name }: { job: Job; before: File | undefined; name: string }) {
  const source = useObjectUrl(before?.type.startsWith('video/') === true ? before : undefined);
  const after = outputOf(job.job_id);
  // biome-ignore lint/a11y/useMediaCaption: the file is the visitor's own
  const whole = <video controls src={after} aria-label={name} />;
  if (source === undefined) return whole;
  return (
    <Switched label={t('compareFrames')} whole={whole}>
      <ComparedFrames before={source} after={after} name={name} />
    </Switched>
  );
}

export function Preview({ job, before }: { job: Job; before?: File | undefined }) {
  const kind = previewKindOf(job);
  const name = job.output?.filename ?? '';
  const source = useObjectUrl(kind === 'image' && before !== undefined && PICTURES.test(before.type) ? before : undefined);
  const after = outputOf(job.job_id);
  return (
    <div class={`preview ${kind}`}>
      {kind === 'image' &&
        (source === undefined ? <img src={after} alt={name} /> : <ComparedPictures before={source} after={after} name={name} />)}
      {/* biome-ignore lint/a11y/useMediaCaption: the file is the visitor's own */}
      {kind === 'audio' && <audio controls src={after} aria-label={name} />}
      {kind === 'video' && <Film job={job} before={before} name={name} />}
      {kind === 'pdf' && <Pdf job={job} before={before} />}
      {kind === 'text' && <Text job={job} />}
    </div>
  );
}
