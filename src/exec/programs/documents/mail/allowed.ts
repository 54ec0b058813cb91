/**
 * What a page made of a stranger's HTML may consist of, by namespace: the elements and attributes that show text, tables, forms, drawings and formulas
 * (HTML, "Elements" and "Obsolete features"; SVG 2; MathML Core). What is not listed does not get into the page.
 */
import { html, type DefaultTreeAdapterTypes as Tree } from 'parse5';

const words = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().trim().split(/\s+/));

const ELEMENTS: Readonly<Record<string, ReadonlySet<string>>> = {
  [html.NS.HTML]: words(`
    html head body style article section nav aside h1 h2 h3 h4 h5 h6 hgroup header footer main search address
    div p hr pre listing blockquote center ol ul menu dir li dl dt dd figure figcaption details summary dialog
    a abbr acronym b bdi bdo big br cite code data del dfn em font i ins kbd mark marquee nobr q rb rp rt rtc ruby s samp small span strike strong
    sub sup time tt u var wbr img picture map area canvas meter progress
    table caption colgroup col thead tbody tfoot tr td th
    form fieldset legend label input button select datalist optgroup option textarea output`),
  [html.NS.SVG]: words(`
    svg g defs symbol use switch a view style path rect circle ellipse line polyline polygon text tspan textPath image foreignObject
    marker clipPath mask pattern linearGradient radialGradient stop filter
    feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood
    feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight
    feTile feTurbulence`),
  [html.NS.MATHML]: words(`
    math semantics merror mfenced mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle
    msub msubsup msup mtable mtd mtext mtr menclose munder munderover none`),
};

/** Those of HTML whose content no reader sees as text, and two that change what is HTML in a formula. */
const WORDLESS = words(
  'script noscript template title iframe frame frameset noframes object embed noembed applet audio video xmp plaintext link meta base source track param mglyph malignmark',
);

/** In every namespace: one that means nothing there does nothing. */
const ATTRIBUTES = words(`
  class id lang xml:lang dir title style role tabindex accesskey hidden translate is part slot name shadowrootmode shadowmode
  abbr align alt axis bgcolor border bordercolor cellpadding cellspacing char charoff checked cite clear color cols colspan compact coords datetime
  default disabled enctype face for frame headers height high href hreflang hspace ismap itemprop itemscope itemtype kind label list loading low
  marginheight marginwidth max maxlength media method min multiple nohref noshade nowrap open optimum pattern placeholder readonly rel required rev
  reversed rows rowspan rules scope scrolling selected shape size sizes span spellcheck start step summary target type usemap valign value valuetype
  vlink alink link text vspace width wrap autocomplete background src action formaction`);

const DRAWN = words(`
  xmlns version viewBox preserveAspectRatio x y z x1 x2 y1 y2 cx cy r rx ry fx fy fr dx dy d points pathLength transform transform-origin
  rotate textLength lengthAdjust startOffset side spacing refX refY markerWidth markerHeight markerUnits orient offset gradientTransform gradientUnits
  spreadMethod patternContentUnits patternTransform patternUnits clipPathUnits maskContentUnits maskUnits filterUnits primitiveUnits
  in in2 result mode operator k1 k2 k3 k4 type values order kernelMatrix kernelUnitLength divisor bias targetX targetY edgeMode preserveAlpha
  surfaceScale diffuseConstant specularConstant specularExponent limitingConeAngle pointsAtX pointsAtY pointsAtZ azimuth elevation scale
  xChannelSelector yChannelSelector stdDeviation radius baseFrequency numOctaves seed stitchTiles tableValues slope intercept amplitude exponent
  alignment-baseline baseline-shift clip clip-path clip-rule color-interpolation color-interpolation-filters color-rendering cursor direction display
  dominant-baseline fill fill-opacity fill-rule filter flood-color flood-opacity font font-family font-size font-size-adjust font-stretch font-style
  font-variant font-weight glyph-orientation-horizontal glyph-orientation-vertical image-rendering letter-spacing lighting-color
  marker-start marker-mid marker-end mask mask-type opacity overflow paint-order pointer-events shape-rendering stop-color stop-opacity stroke
  stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration
  text-rendering unicode-bidi vector-effect visibility white-space word-spacing writing-mode enable-background requiredExtensions systemLanguage`);

const FORMULAS = words(`
  xmlns accent accentunder columnalign columnlines columnspacing columnspan depth display displaystyle fence form frame framespacing largeop linethickness
  lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation open close separators rowalign rowlines rowspacing
  rowspan rspace scriptlevel separator stretchy symmetric voffset`);

const OF_NAMESPACE: Readonly<Record<string, ReadonlySet<string>>> = { [html.NS.SVG]: DRAWN, [html.NS.MATHML]: FORMULAS };

/** Names that authors may give to elements; without a program, these mean nothing (HTML, 4.13.3). */
const CUSTOM = /^[a-z][a-z0-9]{0,40}(?:-[a-z0-9]{1,40}){1,5}$/;

/**
 * `shown`: it stays. `inside`: only its content does, as what is in elements of programs that wrote the page. `dropped`: neither.
 */
export function fateOf({ tagName, namespaceURI }: Tree.Element): 'shown' | 'inside' | 'dropped' {
  const name = tagName.toLowerCase();
  if (ELEMENTS[namespaceURI]?.has(name) === true) return 'shown';
  if (namespaceURI !== html.NS.HTML || WORDLESS.has(name)) return 'dropped';
  return CUSTOM.test(name) ? 'shown' : 'inside';
}

/** The values of some are looked at, too: `keepHarmless`. */
export function mayHave({ namespaceURI }: Tree.Element, { name, prefix }: Tree.Element['attrs'][number]): boolean {
  const plain = name.toLowerCase();
  if (prefix === 'xlink' || plain === 'xlink:href') return plain.endsWith('href');
  return ATTRIBUTES.has(plain) || OF_NAMESPACE[namespaceURI]?.has(plain) === true || /^(?:data|aria)-[a-z0-9_.-]{1,60}$/.test(plain);
}
