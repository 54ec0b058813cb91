/** Trusted Types (W3C): what the page uses of them. Only some browsers have them, and TypeScript's library does not yet. */
interface Window {
  readonly trustedTypes?: {
    createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): unknown };
  };
}
