/** The tools of this server, and a page for each. */
import { batch, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { formats, loadFormats, loadTools, type Tool, tools, usualTargets } from '../api/catalog.ts';
import { Brush } from '../parts/brush.tsx';
import { Crop } from '../parts/crop.tsx';
import { Example, exampleKind } from '../parts/example.tsx';
import { Intake } from '../parts/intake.tsx';
import { Nothing } from '../parts/nothing.tsx';
import { Options, takenFrom } from '../parts/options.tsx';
import { JoinedOrganizer, Organizer } from '../parts/organize.tsx';
import { isPdf, PagePicker } from '../parts/pages.tsx';
import { Pieces } from '../parts/pieces.tsx';
import { AsRequest, type Request } from '../parts/request.tsx';
import { TaskList } from '../parts/task-list.tsx';
import { familyName } from '../parts/task-row.tsx';
import { Trim } from '../parts/trim.tsx';
import { focusOn, href, query } from '../route.ts';
import { wordsIn } from '../words/matching.ts';
import { fitsTool, formatName, formatsThatFit, loadSearch } from '../words/search.ts';
import { absentReason, t, toolName, toolSummary } from '../words/words.ts';
import { rememberChoice } from '../work/choices.ts';
import { add, remove } from '../work/list.ts';
import type { MakeMask } from '../work/mask.ts';
import { type Piece, pieceOf, shownOf, start, type Task, taskOf } from '../work/tasks.ts';
import { choicesOf } from '../work/tool-choices.ts';

export function ToolsPage() {
  const text = useSignal('');
  useEffect(() => {
    document.title = `filemill: ${t('tools')}`;
    void loadTools();
  }, []);
  const wanted = wordsIn(text.value);
  const found = (tools.value ?? []).filter(({ slug, summary }) => fitsTool(wanted, slug, summary));
  const converted = wanted.length === 0 ? [] : formatsFound(wanted);
  const families = Map.groupBy(
    found.filter(({ available }) => available),
    ({ family }) => family,
  );
  const absent = found.filter(({ available }) => !available);
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>{t('tools')}</h1>
        <p class="lead">{t('toolsLead')}</p>
        <input
          type="search"
          class="find"
          aria-label={t('searchTools')}
          placeholder={t('searchTools')}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            void loadSearch();
            void loadFormats();
          }}
        />
      </header>
      {[...families].map(([family, members]) => (
        <section key={family} class="family">
          <h2>{familyName(family)}</h2>
          <ul class="cards">
            {members.map((tool) => (
              <Card key={tool.slug} tool={tool} />
            ))}
          </ul>
        </section>
      ))}
      {absent.length > 0 && (
        <section class="family absent">
          <h2>{t('absent')}</h2>
          <ul class="cards">
            {absent.map((tool) => (
              <Card key={tool.slug} tool={tool} />
            ))}
          </ul>
        </section>
      )}
      {converted.length > 0 && (
        <section class="family">
          <h2>{t('conversions')}</h2>
          <ul class="cards">
            {converted.map((each) => (
              <Conversion key={each.view} {...each} />
            ))}
          </ul>
        </section>
      )}
      {tools.value !== undefined && found.length === 0 && converted.length === 0 && (
        <p class="quiet">{t('noTool', { text: text.value })}</p>
      )}
    </>
  );
}

/** Formats that are shown of those that fit. */
const MOST_FORMATS = 12;
interface ConversionFound {
  readonly view: string;
  readonly title: string;
  readonly name: string;
}
/** To each format that fits, or from one that nothing becomes. */
function formatsFound(wanted: readonly string[]): readonly ConversionFound[] {
  const { sources = [], unproven = [] } = formats.value ?? {};
  const all = new Map([...sources, ...unproven].map((source) => [source.format, source]));
  const made = new Set([...all.values()].flatMap(({ targets }) => targets.map(({ format }) => format)));
  const found = formatsThatFit(wanted, [...new Set([...all.keys(), ...made])], (format) => all.get(format)?.aliases ?? []);
  return found.slice(0, MOST_FORMATS).flatMap((format) => {
    const [from, name] = [format.toUpperCase(), formatName(format)];
    if (made.has(format)) return [{ view: `/?to=${format}`, title: t('toFormat', { to: from }), name }];
    const source = all.get(format);
    const to = source === undefined ? undefined : usualTargets(source)[0];
    return to === undefined ? [] : [{ view: `/${format}-to-${to}`, title: t('fromTo', { from, to: to.toUpperCase() }), name }];
  });
}

function Conversion({ view, title, name }: ConversionFound) {
  return (
    <li>
      <a href={href(view)} data-view={view}>
        <strong>{title}</strong>
        <span>{name}</span>
      </a>
    </li>
  );
}

function Card({ tool: { slug, summary, available, reason = '' } }: { tool: Tool }) {
  const name = toolName(slug);
  const says = available ? toolSummary(slug, summary) : absentReason(reason);
  return (
    <li>
      <a href={href(`/tools/${slug}`)} data-view={`/tools/${slug}`}>
        <strong lang={name.lang}>{name.text}</strong>
        <span lang={says.lang}>{says.text}</span>
      </a>
    </li>
  );
}

export function ToolPage({ slug }: { slug: string }) {
  useEffect(() => {
    document.title = `filemill: ${toolName(slug).text}`;
    void loadTools();
    void loadFormats();
  }, [slug]);
  const tool = tools.value?.find((each) => each.slug === slug);
  if (tools.value === undefined) return <h1 tabIndex={-1}>{toolName(slug).text}</h1>;
  const back = (
    <a class="button" href={href('/tools')} data-view="/tools">
      {t('allTools')}
    </a>
  );
  if (tool === undefined) return <Nothing title={t('unknownTool')} more={back} />;
  if (!tool.available)
    return (
      <Nothing
        title={toolName(slug).text}
        lead={toolSummary(slug, tool.summary).text}
        more={
          <>
            <p class="notice">{t('absentWhy', { reason: absentReason(tool.reason ?? '').text })}</p>
            {back}
          </>
        }
      />
    );
  return <Present tool={tool} />;
}

function Present({ tool }: { tool: Tool }) {
  const { slug, summary, options = [], accepts = [], files = { field: 'file', min: 1, max: 1 } } = tool;
  const { pieces, values } = choicesOf(slug);
  useEffect(() => {
    const given = takenFrom(
      query.value,
      options.map(({ name, schema }) => [name, schema] as const),
    );
    if (Object.keys(given).length > 0) values.value = { ...values.value, ...given };
  }, [slug, query.value]);
  const isPage = files.field === 'url';
  const together = files.max > 1;
  const list = pieces.value;
  const missing = options.some(({ name, required, schema }) => required && schema.type !== 'boolean' && values.value[name] === undefined);
  const pageField = options.find(({ name }) => name === 'pages');
  const few = list.length < files.min;
  // One request names files in one way.
  const mixed = together && list.some(({ url }) => url !== undefined) && list.some(({ file }) => file !== undefined);
  const kind = exampleKind(tool);
  const pdfs = list.flatMap(({ file }) => (file !== undefined && isPdf(file) ? [file] : []));
  const isOrdering = useSignal(false);
  const choose = (next: readonly Piece[]) => {
    pieces.value = next;
    if (tool.widget !== 'pages' || !together || values.value['pages'] === undefined) return;
    // They are counted through all files.
    const { pages: _, ...kept } = values.value;
    values.value = kept;
  };
  const mask = useSignal<MakeMask | undefined>(undefined);
  const isTooMuch = useSignal(false);
  const [first] = list;
  const paints = tool.widget === 'brush' && list.length === 1 && first?.file !== undefined;
  const painted = paints ? mask.value : undefined;
  // What was painted takes the place of a rectangle.
  const { x, y, w, h, ...others } = values.value;
  const given = painted === undefined ? values.value : others;
  const trouble = useSignal(false);
  const running = useRef(false);
  const run = async () => {
    if (running.current) return;
    running.current = true;
    try {
      const field = together ? 'files[]' : files.field;
      const made: readonly Piece[] = painted === undefined ? [] : [{ ...pieceOf(await painted()), isMask: true }];
      const fresh = (together ? [[...list, ...made]] : list.map((piece) => [piece])).map((some) => taskOf(some, { tool: slug, field }));
      trouble.value = false;
      rememberChoice(slug, { options: given });
      batch(() => {
        add(fresh);
        pieces.value = [];
        for (const task of fresh) start(task, given);
      });
      focusOn('.list h2');
    } catch {
      trouble.value = true;
    } finally {
      running.current = false;
    }
  };
  const [name, says] = [toolName(slug), toolSummary(slug, summary)];
  const restart = (task: Task) => start(task, task.pieces.value.some(({ isMask }) => isMask) ? others : values.value);
  const heading = useRef<HTMLHeadingElement>(null);
  const submit = useRef<HTMLButtonElement>(null);
  const paintAgain = (task: Task) => {
    remove([task]);
    pieces.value = shownOf(task);
    // The button is gone.
    heading.current?.focus();
  };
  const requestOf = (pieces: readonly Piece[]): Request => ({
    path: `api/v1/tools/${slug}`,
    field: pieces.length > 1 ? 'files[]' : files.field,
    files: pieces.flatMap(({ file, name }) => (file === undefined ? [] : [name])),
    urls: pieces.flatMap(({ url }) => (url === undefined ? [] : [url])),
    mask: painted === undefined ? undefined : 'mask.png',
    fields: given,
  });
  const example: Request = {
    ...requestOf([]),
    files: isPage ? [] : Array.from({ length: files.min }, (_, n) => `file${files.min > 1 ? n + 1 : ''}.${accepts[0] ?? 'bin'}`),
    urls: isPage ? ['https://example.org/'] : [],
  };
  return (
    <>
      <header class="head">
        <p class="back">
          <a href={href('/tools')} data-view="/tools">
            {t('allTools')}
          </a>
        </p>
        <h1 tabIndex={-1} lang={name.lang} ref={heading}>
          {name.text}
        </h1>
        <p class="lead" lang={says.lang}>
          {says.text}
        </p>
        {accepts.length > 0 && (
          <p class="quiet">
            {t('accepts', {
              formats:
                accepts.length > 8
                  ? `${accepts
                      .slice(0, 8)
                      .map((each) => each.toUpperCase())
                      .join(', ')} …`
                  : accepts.map((each) => each.toUpperCase()).join(', '),
            })}
          </p>
        )}
      </header>
      <Intake
        add={(given) => {
          choose([...pieces.value, ...given.map(pieceOf)].slice(0, together ? files.max : undefined));
        }}
        small={list.length > 0 || isPage}
        onlyUrl={isPage}
        most={tool.limits?.max_bytes}
      />
      {kind !== undefined && list.length === 0 && (
        <Example
          key={slug}
          slug={slug}
          kind={kind}
          count={files.min}
          take={(some, told) => {
            pieces.value = some.map(pieceOf);
            values.value = { ...told, ...values.value };
            // The button is gone.
            setTimeout(() => submit.current?.focus());
          }}
        />
      )}
      {list.length > 0 && <Pieces list={list} together={together} change={choose} />}
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          if (!few && !mixed && !isTooMuch.value) void run();
        }}
      >
        {tool.widget === 'crop' && first?.file !== undefined && <Crop key={first.key} file={first.file} values={values} />}
        {paints && first?.file !== undefined && (
          <Brush key={first.key} file={first.file} mask={mask} isTooMuch={isTooMuch} values={values} />
        )}
        {tool.widget === 'pages' && !together && list.length === 1 && first?.file !== undefined && isPdf(first.file) && (
          <Organizer key={first.key} file={first.file} values={values} />
        )}
        {tool.widget === 'pages' && together && !few && pdfs.length === list.length && (
          <JoinedOrganizer key={list.map(({ key }) => key).join(' ')} files={pdfs} values={values} isOpen={isOrdering} />
        )}
        {tool.widget !== 'pages' && pageField !== undefined && list.length === 1 && first?.file !== undefined && isPdf(first.file) && (
          <PagePicker key={first.key} file={first.file} values={values} required={pageField.required} />
        )}
        {options.some(({ name }) => name === 'end_time') && first?.file !== undefined && (
          <Trim key={first.key} file={first.file} values={values} />
        )}
        {options.length > 0 && <h2>{t('options')}</h2>}
        {options.length > 0 && <Options prefix={slug} values={values} fields={options} />}
        <button ref={submit} type="submit" class="button main large" disabled={few || missing || mixed || isTooMuch.value}>
          {t('run')}
        </button>
        {few && !isPage && <p class="quiet">{t('atLeast', { n: files.min })}</p>}
        {mixed && <p role="alert">{t('mixed')}</p>}
        {trouble.value && <p role="alert">{t('brushFailed')}</p>}
      </form>
      <TaskList tool={slug} start={restart} paint={paintAgain} />
      <AsRequest requests={list.length === 0 ? [example] : together ? [requestOf(list)] : list.map((piece) => requestOf([piece]))} />
    </>
  );
}
