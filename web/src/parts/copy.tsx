/** A button that copies a text, and says so. */
import { useSignal } from '@preact/signals';

interface Given {
  readonly text: string;
  readonly label: string;
  readonly done: string;
  readonly end?: boolean;
}

export function Copy({ text, label, done, end = false }: Given) {
  /** What was copied: another text is not. */
  const copied = useSignal<string | undefined>(undefined);
  return (
    <button
      type="button"
      class={`button${end ? ' end' : ''}`}
      onClick={async () => {
        if (await copy(text)) copied.value = text;
      }}
    >
      {copied.value === text ? done : label}
    </button>
  );
}

/** @returns whether the clipboard has it */
async function copy(text: string): Promise<boolean> {
  // Over plain HTTP from another machine, a browser gives a page no `clipboard`.
  if (navigator.clipboard === undefined) return copyByEvent(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copyByEvent(text),
  );
}

function copyByEvent(text: string): boolean {
  let isSet = false;
  const fill = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    isSet = event.clipboardData !== null;
  };
  document.addEventListener('copy', fill, { once: true });
  document.execCommand('copy');
  document.removeEventListener('copy', fill);
  return isSet;
}
