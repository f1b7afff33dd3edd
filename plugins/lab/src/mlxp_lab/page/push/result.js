/** What a push has put where. */

export function pushedOf({ html, Facts, format }) {
  return function Pushed({ job }) {
    const { repo, url, files, size_bytes: size, private: hidden } = job.result;
    return html`
      <${Facts} facts=${{
        Repository: repo,
        Sent: `${files} files, ${format.bytes(size)}`,
        Seen: hidden ? "by you alone" : "by everybody",
      }} />
      <div class="row"><a class="button" href=${url} target="_blank" rel="noreferrer">Look at it on the hub</a></div>`;
  };
}
