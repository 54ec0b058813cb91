/** What this browser chose last for each kind of file, and what it has named: targets and options, never a password or what is of one file alone. */
import { signal } from '@preact/signals';

export interface Choice {
  /** Undefined for a tool. */
  readonly target?: string | undefined;
  readonly options: Readonly<Record<string, string>>;
}
export interface Preset extends Choice {
  readonly name: string;
}

const KEY = 'filemill.choices';
/** Kinds of files and tools, and presets. */
const MOST = 100;
/** They are secret, or would be wrong for another file. */
const OF_ONE_FILE = /^(?:password|pages|start_time|end_time|img_crop_[xywh]|[xywh])$/;

interface Stored {
  /** By family of the source, or by tool. */
  readonly last: Readonly<Record<string, Choice>>;
  readonly presets: readonly Preset[];
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= 500;
function isChoice(value: unknown): value is Choice {
  const { target, options } = (value ?? {}) as Partial<Choice>;
  return (
    (target === undefined || isText(target)) && typeof options === 'object' && options !== null && Object.values(options).every(isText)
  );
}

/** Another version of the page, or a person, may have written it. */
function read(): Stored {
  try {
    const { last = {}, presets = [] } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Stored>;
    return {
      last: Object.fromEntries(Object.entries(last).filter(([, choice]) => isChoice(choice))),
      presets: presets.filter((preset) => isChoice(preset) && isText(preset.name)),
    };
  } catch {
    return { last: {}, presets: [] };
  }
}
const stored = signal<Stored | undefined>(undefined);
const now = (): Stored => stored.value ?? { last: {}, presets: [] };

export function watchChoices(): void {
  stored.value = read();
  addEventListener('storage', ({ key }) => {
    if (key === KEY || key === null) stored.value = read();
  });
}

function write(next: Stored): void {
  stored.value = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // It lasts as long as the page then.
  }
}

/** Without what is of one file alone. */
const kept = ({ target, options }: Choice): Choice => ({
  ...(target === undefined ? {} : { target }),
  options: Object.fromEntries(Object.entries(options).filter(([name]) => !OF_ONE_FILE.test(name))),
});

export const lastChoice = (kind: string): Choice | undefined => now().last[kind];
export function rememberChoice(kind: string, choice: Choice): void {
  const { [kind]: _, ...others } = now().last;
  write({ ...now(), last: Object.fromEntries([[kind, kept(choice)] as const, ...Object.entries(others)].slice(0, MOST)) });
}

export const presets = (): readonly Preset[] => now().presets;
/** One of the same name is replaced. */
export function savePreset(name: string, choice: Choice): void {
  const others = now().presets.filter((preset) => preset.name !== name);
  write({ ...now(), presets: [...others, { name, ...kept(choice) }].slice(-MOST) });
}
export const dropPreset = (name: string): void => write({ ...now(), presets: now().presets.filter((preset) => preset.name !== name) });
