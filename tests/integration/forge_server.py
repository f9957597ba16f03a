"""A forge for a test of the daemon: forge_server.py PLACE CHECKOUT. The stand-in with one repository, ann/tool, that has the
checkout's commit on main. PLACE gets ca.pem, app.pem, host, and state.json after every call: how many tokens were made and
live, of those that read and those that write, and what was refused."""
import json
import os
import subprocess
import sys
import threading

import forge_standin


class Forge(forge_standin.Standin):
    refused = 0
    telling = threading.Lock()

    def send(self, request, status, *rest, **more):
        self.refused += status in (401, 403)
        self.tell()
        super().send(request, status, *rest, **more)

    def tell(self):
        with self.telling:  # its calls come in threads
            state = {"read": len(self.made(False)), "write": len(self.made(True)), "alive": len(self.alive()),
                     "refused": self.refused}
            with open(PLACE + "/state.new", "w") as out:
                json.dump(state, out)
            os.replace(PLACE + "/state.new", PLACE + "/state.json")


PLACE, CHECKOUT = sys.argv[1:]
authority = forge_standin.Authority(PLACE, "ca")
forge_standin.openssl("genrsa", "-traditional", "-out", PLACE + "/app.pem", "2048")
forge = Forge(PLACE, authority, app_key=PLACE + "/app.pem")
path = forge.add_repo("ann/tool")
subprocess.run(["git", "-C", CHECKOUT, "push", "-q", path, "HEAD:refs/heads/main"], check=True)
subprocess.run(["ln", "-s", path, PLACE + "/tool.git"], check=True)
forge.tell()
with open(PLACE + "/host", "w") as out:
    out.write(forge.host)
threading.Event().wait()
