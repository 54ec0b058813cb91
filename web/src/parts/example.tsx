/** A button that puts an example into a tool, with values for what the tool must be told. */
import { useSignal } from '@preact/signals';
import type { Tool } from '../api/catalog.ts';
import { t } from '../words/words.ts';
import type { ExampleKind } from '../work/example.ts';

/** The browser can draw no face, speak no word into a file, and lock no PDF. */
const WITHOUT: ReadonlySet<string> = new Set(['passport-photo', 'speech-to-text', 'unlock-pdf']);

/** The first format that a tool accepts decides. */
const KINDS: readonly (readonly [format: string, kind: ExampleKind])[] = [
  ['png', 'picture'],
  ['jpg', 'jpg'],
  ['webp', 'webp'],
  ['gif', 'gif'],
  ['pdf', 'pdf'],
  ['wav', 'sound'],
  ['webm', 'video'],
];

const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'audio-cutter': { start_time: '1', end_time: '3' },
  'crop-image': { img_crop_x: '120', img_crop_y: '60', img_crop_w: '320', img_crop_h: '240' },
  'organize-pdf': { pages: '3,1' },
  'pdf-page-remover': { pages: '2' },
  'protect-pdf': { password: 'example' },
  'remove-object': { x: '155', y: '115', w: '115', h: '145' },
  'resize-image': { img_resize_w: '320' },
  'rotate-image': { img_rotate: '90' },
  'trim-video': { start_time: '0.5', end_time: '1.5' },
  'watermark-image': { text: 'filemill' },
};

export const exampleKind = ({ slug, accepts = [] }: Tool): ExampleKind | undefined => {
  if (WITHOUT.has(slug)) return undefined;
  return slug === 'image-to-text' ? 'text' : KINDS.find(([format]) => accepts.includes(format))?.[1];
};

interface Given {
  readonly slug: string;
  readonly kind: ExampleKind;
  readonly count: number;
  readonly take: (files: readonly File[], values: Readonly<Record<string, string>>) => void;
}

export function Example({ slug, kind, count, take }: Given) {
  const says = useSignal('');
  const isBusy = useSignal(false);
  const make = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    says.value = t('makingExample');
    try {
      const { exampleFiles } = await import('../work/example.ts');
      take(await exampleFiles(kind, count), VALUES[slug] ?? {});
      says.value = '';
    } catch {
      says.value = t('noExample');
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <p class="example">
      <button type="button" class="button" aria-disabled={isBusy.value} onClick={() => void make()}>
        {t('tryExample')}
      </button>
      <span role="status" class="quiet">
        {says.value}
      </span>
    </p>
  );
}
