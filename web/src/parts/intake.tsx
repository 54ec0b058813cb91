/** Where files come in: dropped, pasted, chosen, a whole folder, a picture that is taken, or a URL. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { bytes, inList, t } from '../words/words.ts';
import { Icon } from './icon.tsx';

/** Files of one folder. */
const MOST = 500;

/** Every file below what was dropped. */
async function filesOf(items: DataTransferItemList): Promise<File[]> {
  const files: File[] = [];
  const entries = [...items].flatMap((item) => (item.kind === 'file' ? [item.webkitGetAsEntry?.() ?? item.getAsFile()] : []));
  const visit = async (entry: FileSystemEntry | File | null): Promise<void> => {
    if (entry === null || files.length >= MOST) return;
    if (entry instanceof File) files.push(entry);
    else if (entry.isFile) files.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
    else {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      // A reader gives a hundred at a time.
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
        for (const each of some) await visit(each);
        if (some.length === 0 || files.length >= MOST) break;
      }
    }
  };
  for (const entry of entries) await visit(entry);
  return files.filter(({ name }) => !name.startsWith('.'));
}

interface Given {
  readonly add: (given: readonly (File | string)[]) => void;
  readonly small: boolean;
  readonly onlyUrl?: boolean;
  /** How large a file may be, bytes; undefined where that is not known yet. */
  readonly most?: number | undefined;
}

/** Names of files that are too large: further ones are counted. */
const NAMED = 3;
function tooLarge(files: readonly File[], most: number): string {
  const named = files.slice(0, NAMED).map(({ name, size }) => t('namedSize', { name, size: bytes(size) }));
  const more = files.length > NAMED ? [t('files', { n: files.length - NAMED })] : [];
  return t('tooLargeToAdd', { n: files.length, files: inList([...named, ...more]), most: bytes(most) });
}

export function Intake({ add, small, onlyUrl = false, most = Number.POSITIVE_INFINITY }: Given) {
  const [choose, folder, camera] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const over = useSignal(false);
  const said = useSignal('');
  const refused = useSignal('');
  const latest = useRef(add);
  latest.current = (given) => {
    const large = given.filter((each) => each instanceof File && each.size > most) as File[];
    said.value = given.length >= MOST ? t('tooMany', { n: MOST }) : '';
    refused.value = large.length > 0 ? tooLarge(large, most) : '';
    const taken = given.filter((each) => !large.includes(each as File)).slice(0, MOST);
    if (taken.length > 0) add(taken);
  };
  useEffect(() => {
    if (onlyUrl) return undefined;
    let depth = 0;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth++;
      over.value = true;
    };
    const leave = () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) over.value = false;
    };
    const hold = (event: DragEvent) => hasFiles(event) && event.preventDefault();
    const drop = (event: DragEvent) => {
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      depth = 0;
      over.value = false;
      void filesOf(event.dataTransfer.items).then((files) => latest.current(files));
    };
    const paste = (event: ClipboardEvent) => {
      if (event.target instanceof Element && event.target.closest('input, textarea, select') !== null) return;
      const files = [...(event.clipboardData?.files ?? [])];
      const text = event.clipboardData?.getData('text/plain').trim() ?? '';
      if (files.length > 0) latest.current(files);
      else if (/^https?:\/\/\S+$/.test(text) && URL.canParse(text)) latest.current([text]);
    };
    addEventListener('dragenter', enter);
    addEventListener('dragleave', leave);
    addEventListener('dragover', hold);
    addEventListener('drop', drop);
    addEventListener('paste', paste);
    return () => {
      removeEventListener('dragenter', enter);
      removeEventListener('dragleave', leave);
      removeEventListener('dragover', hold);
      removeEventListener('drop', drop);
      removeEventListener('paste', paste);
    };
  }, [onlyUrl]);
  const take = (input: HTMLInputElement) => {
    latest.current([...(input.files ?? [])].filter(({ name }) => !name.startsWith('.')));
    input.value = '';
  };
  const chosen = (event: { currentTarget: HTMLInputElement }) => take(event.currentTarget);
  useEffect(() => {
    // The document has the fields before the script that reads them.
    for (const { current } of [choose, folder, camera]) if (current?.files?.length) take(current);
  }, []);
  return (
    <section class={`intake${small ? ' small' : ''}${over.value ? ' over' : ''}`} aria-label={t('chooseFiles')}>
      {!onlyUrl && (
        <>
          <p class="drop pointed">
            <Icon name="upload" />
            <strong>{over.value ? t('dropNow') : t('dropHere')}</strong>
            <span>{t('orPaste')}</span>
          </p>
          {/* Where there is nothing to drop, and no key to paste with. */}
          <p class="drop touched">
            <Icon name="upload" />
            <strong>{t('fromDevice')}</strong>
          </p>
          <div class="ways">
            {/* Labels open a dialog before any script has come. */}
            <label class="button main">
              {t('chooseFiles')}
              <input ref={choose} type="file" class="unseen" multiple onChange={chosen} />
            </label>
            <label class="button pointed">
              {t('chooseFolder')}
              {/* @ts-expect-error every browser knows it, and no standard */}
              <input ref={folder} type="file" class="unseen" multiple webkitdirectory={true} onChange={chosen} />
            </label>
            <label class="button touch">
              {t('takePicture')}
              <input ref={camera} type="file" class="unseen" accept="image/*" capture="environment" onChange={chosen} />
            </label>
          </div>
        </>
      )}
      <form
        class="url"
        onSubmit={(event) => {
          event.preventDefault();
          const input = event.currentTarget.elements.namedItem('url') as HTMLInputElement;
          if (!/^https?:/.test(input.value) || !URL.canParse(input.value)) return;
          latest.current([input.value]);
          input.value = '';
        }}
      >
        <input
          name="url"
          type="url"
          required
          pattern="https?://.+"
          placeholder="https://"
          aria-label={t(onlyUrl ? 'pageUrl' : 'urlLabel')}
          dir="ltr"
          autocomplete="off"
        />
        <button type="submit" class="button">
          {t('add')}
        </button>
      </form>
      <p role="status" class="quiet">
        {said.value}
      </p>
      {refused.value !== '' && (
        <p role="alert" class="notice">
          {refused.value}
        </p>
      )}
    </section>
  );
}
