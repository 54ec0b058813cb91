/** Signs of the page, drawn with the colour of the text beside them; none says anything that the text does not. */
const PATHS = {
  brand: 'M6 3h8l5 5v13H6zM9.5 14.5l2.5 2.5 4-5',
  upload: 'M12 16V4m0 0L7 9m5-5 5 5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3',
  clock: 'M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18',
  lost: 'M4 4l16 16M8.5 15.5a5 5 0 0 1 7 0M5 12a10 10 0 0 1 4-2.5M19 12a10 10 0 0 0-6-3M12 19h.01',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'm5 12.5 4.5 4.5L19 7',
  warn: 'M12 9v4m0 4h.01M10.3 4.3 2.8 17.5A2 2 0 0 0 4.5 20.5h15a2 2 0 0 0 1.7-3L13.7 4.3a2 2 0 0 0-3.4 0',
  down: 'M12 4v12m0 0 5-5m-5 5-5-5M5 20h14',
  again: 'M20 12a8 8 0 1 1-2.5-5.8M20 4v4.5h-4.5',
  star: 'm12 4 2.4 5 5.6.7-4.1 3.8 1.1 5.5-5-2.8-5 2.8 1.1-5.5L4 9.7 9.6 9z',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9h.01',
  audio: 'M9 18V6l10-2v12M9 18a3 3 0 1 1-6 0 3 3 0 0 1 6 0m10-2a3 3 0 1 1-6 0 3 3 0 0 1 6 0',
  video: 'M3 6h12v12H3zM15 10l6-3v10l-6-3',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  arrowUp: 'M12 19V6m0 0-5 5m5-5 5 5',
  arrowDown: 'M12 5v13m0 0 5-5m-5 5-5-5',
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
const OF_FAMILY: Readonly<Record<string, keyof typeof PATHS>> = { image: 'image', vector: 'image', audio: 'audio', video: 'video' };
export const iconOf = (family: string | undefined): keyof typeof PATHS => OF_FAMILY[family ?? ''] ?? 'file';
