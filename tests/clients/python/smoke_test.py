"""What programs do with the Kubernetes client from PyPI, on the cluster of $KUBECONFIG."""

import threading
import unittest
import uuid

from kubernetes import client, config, dynamic, watch
from kubernetes.client import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError

GROUP = "smoke.berth.dev"
PATIENCE_SECONDS = 30


def pod(name, labels=None):
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name=name, labels=labels or {"app": "room"}),
        spec=client.V1PodSpec(
            containers=[
                client.V1Container(
                    name="room",
                    image="registry.example/room:1",
                    ports=[client.V1ContainerPort(container_port=8000)],
                )
            ]
        ),
    )


class Smoke(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config()
        cls.core = client.CoreV1Api()
        cls.namespace = f"smoke-{uuid.uuid4().hex[:8]}"
        cls.core.create_namespace(
            client.V1Namespace(metadata=client.V1ObjectMeta(name=cls.namespace))
        )

    @classmethod
    def tearDownClass(cls):
        cls.core.delete_namespace(cls.namespace)

    def assert_refused(self, status, reason, call, *args, **kwargs):
        with self.assertRaises(ApiException) as refused:
            call(*args, **kwargs)
        self.assertEqual(refused.exception.status, status)
        self.assertIn(f'"reason":"{reason}"', refused.exception.body.replace(" ", ""))

    def test_version(self):
        version = client.VersionApi().get_code()
        self.assertEqual(version.major, "1")
        self.assertTrue(version.git_version.startswith("v1."))

    def test_config_map_from_birth_to_death(self):
        made = self.core.create_namespaced_config_map(
            self.namespace,
            client.V1ConfigMap(metadata=client.V1ObjectMeta(name="life"), data={"k": "v"}),
        )
        self.assertTrue(made.metadata.uid)
        made.data["k"] = "w"
        replaced = self.core.replace_namespaced_config_map("life", self.namespace, made)
        self.assertEqual(replaced.data, {"k": "w"})
        self.assert_refused(
            409,
            "Conflict",
            self.core.replace_namespaced_config_map,
            "life",
            self.namespace,
            made,
        )
        patched = self.core.patch_namespaced_config_map(
            "life", self.namespace, {"data": {"k": None, "n": "1"}}
        )
        self.assertEqual(patched.data, {"n": "1"})
        patched = self.core.patch_namespaced_config_map(
            "life", self.namespace, [{"op": "add", "path": "/data/m", "value": "2"}]
        )
        self.assertEqual(patched.data, {"m": "2", "n": "1"})
        self.core.delete_namespaced_config_map("life", self.namespace)
        self.assert_refused(
            404, "NotFound", self.core.read_namespaced_config_map, "life", self.namespace
        )

    def test_refusals(self):
        self.assert_refused(
            422,
            "Invalid",
            self.core.create_namespaced_config_map,
            self.namespace,
            client.V1ConfigMap(metadata=client.V1ObjectMeta(name="Not_A_Name")),
        )
        self.core.create_namespaced_config_map(
            self.namespace, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="once"))
        )
        self.assert_refused(
            409,
            "AlreadyExists",
            self.core.create_namespaced_config_map,
            self.namespace,
            client.V1ConfigMap(metadata=client.V1ObjectMeta(name="once")),
        )

    def test_pods_are_patched_strategically(self):
        self.core.create_namespaced_pod(self.namespace, pod("patched"))
        patch = {"spec": {"containers": [{"name": "room", "image": "registry.example/room:2"}]}}
        patched = self.core.patch_namespaced_pod(
            "patched",
            self.namespace,
            patch,
            _content_type="application/strategic-merge-patch+json",
        )
        self.assertEqual(patched.spec.containers[0].image, "registry.example/room:2")
        self.assertEqual(patched.spec.containers[0].ports[0].container_port, 8000)
        status = {"status": {"phase": "Running", "podIP": "10.1.2.3"}}
        patched = self.core.patch_namespaced_pod_status(
            "patched", self.namespace, status, _content_type="application/merge-patch+json"
        )
        self.assertEqual(patched.status.pod_ip, "10.1.2.3")

    def test_lists_are_paged_and_selected(self):
        for i in range(5):
            self.core.create_namespaced_config_map(
                self.namespace,
                client.V1ConfigMap(
                    metadata=client.V1ObjectMeta(
                        name=f"page-{i}", labels={"page": "even" if i % 2 == 0 else "odd"}
                    )
                ),
            )
        names, token = [], None
        while True:
            page = self.core.list_namespaced_config_map(
                self.namespace, label_selector="page", limit=2, _continue=token
            )
            names += [item.metadata.name for item in page.items]
            token = page.metadata._continue
            if not token:
                break
        self.assertEqual(names, [f"page-{i}" for i in range(5)])
        odd = self.core.list_namespaced_config_map(self.namespace, label_selector="page in (odd)")
        self.assertEqual([item.metadata.name for item in odd.items], ["page-1", "page-3"])
        one = self.core.list_namespaced_config_map(
            self.namespace, field_selector="metadata.name=page-2"
        )
        self.assertEqual([item.metadata.name for item in one.items], ["page-2"])

    def test_watch_sees_what_happens(self):
        version = self.core.list_namespaced_secret(self.namespace).metadata.resource_version

        def live():
            self.core.create_namespaced_secret(
                self.namespace,
                client.V1Secret(
                    metadata=client.V1ObjectMeta(name="watched"), string_data={"k": "v"}
                ),
            )
            self.core.patch_namespaced_secret(
                "watched", self.namespace, {"metadata": {"labels": {"seen": "yes"}}}
            )
            self.core.delete_namespaced_secret("watched", self.namespace)

        living = threading.Thread(target=live)
        living.start()
        seen = []
        watching = watch.Watch()
        for event in watching.stream(
            self.core.list_namespaced_secret,
            self.namespace,
            resource_version=version,
            timeout_seconds=PATIENCE_SECONDS,
        ):
            seen.append((event["type"], event["object"].data))
            if event["type"] == "DELETED":
                watching.stop()
        living.join()
        self.assertEqual(
            seen, [("ADDED", {"k": "dg=="}), ("MODIFIED", {"k": "dg=="}), ("DELETED", {"k": "dg=="})]
        )

    def test_deployment_is_scaled(self):
        apps = client.AppsV1Api()
        template = client.V1PodTemplateSpec(
            metadata=client.V1ObjectMeta(labels={"app": "scaled"}), spec=pod("x").spec
        )
        made = apps.create_namespaced_deployment(
            self.namespace,
            client.V1Deployment(
                metadata=client.V1ObjectMeta(name="scaled"),
                spec=client.V1DeploymentSpec(
                    replicas=1,
                    selector=client.V1LabelSelector(match_labels={"app": "scaled"}),
                    template=template,
                ),
            ),
        )
        self.assertEqual(made.spec.strategy.type, "RollingUpdate")
        scale = apps.patch_namespaced_deployment_scale(
            "scaled", self.namespace, {"spec": {"replicas": 3}}
        )
        self.assertEqual(scale.spec.replicas, 3)
        self.assertEqual(apps.read_namespaced_deployment("scaled", self.namespace).spec.replicas, 3)

    def test_custom_objects(self):
        extensions = client.ApiextensionsV1Api()
        plural = f"rooms{uuid.uuid4().hex[:6]}"
        schema = {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "required": ["port"],
                    "properties": {"port": {"type": "integer", "minimum": 1}},
                },
                "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
            },
        }
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        extensions.create_custom_resource_definition(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": {"plural": plural, "kind": plural.capitalize()},
                    "versions": [version],
                },
            }
        )
        self.addCleanup(extensions.delete_custom_resource_definition, f"{plural}.{GROUP}")
        self.wait_established(extensions, f"{plural}.{GROUP}")
        custom = client.CustomObjectsApi()
        where = (GROUP, "v1", self.namespace, plural)
        room = {
            "apiVersion": f"{GROUP}/v1",
            "kind": plural.capitalize(),
            "metadata": {"name": "room"},
            "spec": {"port": 8000, "unknown": True},
        }
        made = custom.create_namespaced_custom_object(*where, room)
        self.assertEqual(made["spec"], {"port": 8000})
        made["status"] = {"phase": "Open"}
        with_status = custom.replace_namespaced_custom_object_status(*where, "room", made)
        self.assertEqual(with_status["status"], {"phase": "Open"})
        self.assertEqual(with_status["metadata"]["generation"], 1)
        room["metadata"]["name"] = "bad"
        room["spec"]["port"] = 0
        self.assert_refused(422, "Invalid", custom.create_namespaced_custom_object, *where, room)
        listed = custom.list_namespaced_custom_object(*where)
        self.assertEqual([item["metadata"]["name"] for item in listed["items"]], ["room"])
        custom.delete_namespaced_custom_object(*where, "room")

    def wait_established(self, extensions, name):
        watching = watch.Watch()
        for event in watching.stream(
            extensions.list_custom_resource_definition,
            field_selector=f"metadata.name={name}",
            timeout_seconds=PATIENCE_SECONDS,
        ):
            conditions = event["object"].status.conditions or []
            if any(c.type == "Established" and c.status == "True" for c in conditions):
                watching.stop()
                return
        self.fail(f"{name} is not established")

    def test_dynamic_client_applies(self):
        anything = dynamic.DynamicClient(client.ApiClient())
        maps = anything.resources.get(api_version="v1", kind="ConfigMap")
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "applied"},
            "data": {"a": "1", "b": "2"},
        }
        maps.server_side_apply(body=body, namespace=self.namespace, field_manager="first")
        body["data"] = {"a": "other"}
        with self.assertRaises(ConflictError):
            maps.server_side_apply(body=body, namespace=self.namespace, field_manager="second")
        body["data"] = {"a": "1"}
        applied = maps.server_side_apply(
            body=body, namespace=self.namespace, field_manager="first"
        )
        self.assertEqual(applied.data.to_dict(), {"a": "1"})
        maps.delete(name="applied", namespace=self.namespace)
        with self.assertRaises(NotFoundError):
            maps.get(name="applied", namespace=self.namespace)

    def test_who_may_do_what(self):
        review = client.AuthorizationV1Api().create_self_subject_access_review(
            client.V1SelfSubjectAccessReview(
                spec=client.V1SelfSubjectAccessReviewSpec(
                    resource_attributes=client.V1ResourceAttributes(
                        verb="create", resource="pods", namespace=self.namespace
                    )
                )
            )
        )
        self.assertTrue(review.status.allowed)
        who = client.AuthenticationV1Api().create_self_subject_review(
            client.V1SelfSubjectReview()
        )
        self.assertIn("system:masters", who.status.user_info.groups)


if __name__ == "__main__":
    unittest.main()
