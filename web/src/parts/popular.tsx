/** What people do most, below the place for files: it leads there by one press. */
import { href } from '../route.ts';
import { t, toolName } from '../words/words.ts';

type Link = readonly [from: string, to: string] | string;
/** Conversions and tools. */
const LINKS: readonly Link[] = [
  ['heic', 'jpg'],
  ['pdf', 'docx'],
  ['jpg', 'pdf'],
  ['mp4', 'mp3'],
  'merge-pdf',
  'compress-pdf',
  'compress-image',
  'remove-background',
];

export function Popular() {
  return (
    <section class="popular" aria-labelledby="popular">
      <h2 id="popular">{t('popular')}</h2>
      <ul class="chips">
        {LINKS.map((link) => {
          const view = typeof link === 'string' ? `/tools/${link}` : `/${link.join('-to-')}`;
          return (
            <li key={view}>
              <a class="chip" href={href(view)} data-view={view}>
                {typeof link === 'string' ? toolName(link).text : t('fromTo', { from: link[0].toUpperCase(), to: link[1].toUpperCase() })}
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
