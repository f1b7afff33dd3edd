import { pageOf } from "../page";

function ServerPage() {
  return (
    <div class="content">
      <h1>Server</h1>
    </div>
  );
}

export default pageOf(ServerPage);
