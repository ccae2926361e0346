"""What the driver sends and hears, against the models of Tencent's own SDK.

CALLS is a file with a line for each call: {"action": ..., "request": {...}, "response": {...}}. A field that the SDK's
model of the request or the answer does not have is a failure, at whatever depth: the cloud would not know it either.
"""

import json
import os
import unittest
import warnings

from tencentcloud.clb.v20180317 import models


def fields(model):
    return {name[1:] for name in vars(model)}


class Fields(unittest.TestCase):
    def check(self, action, kind, body):
        model = getattr(models, action + kind)()
        self.assertLessEqual(set(body), fields(model))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it warns of members that it does not know
            model._deserialize(body)

    def test_every_call(self):
        with open(os.environ["CALLS"], encoding="utf-8") as file:
            calls = [json.loads(line) for line in file]
        self.assertTrue(calls)
        for call in calls:
            for kind, body in (("Request", call["request"]), ("Response", call["response"])):
                with self.subTest(call["action"] + kind, body=body):
                    self.check(call["action"], kind, body)

    def test_a_wrong_name_is_noticed(self):
        for body in ({"Protokoll": "TCP"}, {"HealthCheck": {"TimeOut": 2, "Timeout": 2}}):
            with self.subTest(body), self.assertRaises((AssertionError, UserWarning)):
                self.check("CreateListener", "Request", body)


if __name__ == "__main__":
    unittest.main()
